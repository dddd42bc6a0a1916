// Finds a job by name.

#include <algorithm>

#include "scheduler/engine/view_parts.hpp"
#include "scheduler/listing/missing_pods.hpp"
#include "scheduler/plan/explain/explain.hpp"

namespace gpuctl {
namespace {

// The kind and pool in a key: "Deployment" for "Deployment.6d8f:web", "DaemonSet@gpu" for
// "DaemonSet.6d8f@gpu:agent"; nothing for a job with a plain name.
std::string maker_of(const std::string& key) {
    const std::size_t colon = key.find(':');
    if (colon == std::string::npos) return "";
    const std::size_t pool = std::min(key.find(kPoolSign), colon);
    return key.substr(0, std::min(key.find('.'), pool)) + key.substr(pool, colon - pool);
}

// A job with one of the names; a job that is kept as a summary only has no id.
struct Named {
    const ObjectKey* key = nullptr;
    std::uint64_t arrival = 0;
    JobId id;
};

// Keeps the latest of several revisions of one Deployment.
void keep_latest(std::vector<Named>& jobs) {
    const auto is_later = [](const Named& job, const Named& other) {
        return other.arrival > job.arrival &&
               other.key->namespace_name == job.key->namespace_name &&
               !maker_of(job.key->name).empty() &&
               maker_of(other.key->name) == maker_of(job.key->name);
    };
    const std::vector<Named> all = jobs;
    std::erase_if(jobs, [&](const Named& job) {
        return std::any_of(all.begin(), all.end(),
                           [&](const Named& other) { return is_later(job, other); });
    });
}

// Finds jobs by name. A unique name has precedence, then the shown name of a job over the name of a
// pod.
std::vector<Named> jobs_called(const ClusterState& state, std::string_view namespace_name,
                               std::string_view name) {
    const bool is_whole = name.find(':') != std::string_view::npos;
    std::vector<Named> by_name;
    std::vector<Named> by_pod;
    const auto consider = [&](Named job, const auto& has_pod) {
        const ObjectKey& key = *job.key;
        if (!namespace_name.empty() && key.namespace_name != namespace_name) return;
        if ((is_whole ? whole_name(key) : shown_name(key)) == name) {
            by_name.push_back(job);
        } else if (has_pod()) {
            by_pod.push_back(job);
        }
    };
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const auto is_named = [&](PodId pod) { return state.pod(pod).facts.key.name == name; };
        consider({&key, job.arrival, id},
                 [&] { return std::any_of(job.pods.begin(), job.pods.end(), is_named); });
    }
    for (const auto& [key, job] : state.jobs.finished_jobs().by_key()) {
        const auto is_named = [&](const EndedPod& pod) { return name_of(pod, job.key) == name; };
        consider({&key, job.arrival, JobId::none()}, [&] {
            return std::any_of(job.ended_pods.begin(), job.ended_pods.end(), is_named);
        });
    }
    keep_latest(by_name);
    return by_name.empty() ? by_pod : by_name;
}

// Finds jobs by name in the index.
std::vector<Named> jobs_called(const Listing& listing, std::string_view namespace_name,
                               std::string_view name) {
    const std::size_t colon = name.find(':');
    const std::string_view shown = colon == name.npos ? name : name.substr(colon + 1);
    std::vector<const JobEntry*> entries;
    listing.index().read_named(namespace_name, shown, entries);
    std::vector<Named> found;
    for (const JobEntry* entry : entries) {
        if (colon != name.npos && whole_name(entry->key) != name) continue;
        found.push_back({&entry->key, entry->arrival, entry->job});
    }
    keep_latest(found);
    if (!found.empty()) return found;
    entries.clear();
    listing.read_with_pod(namespace_name, name, entries);
    for (const JobEntry* entry : entries) {
        found.push_back({&entry->key, entry->arrival, entry->job});
    }
    return found;
}

Result<Named> only_one(std::vector<Named> matches, std::string_view namespace_name,
                       std::string_view name) {
    const std::string where =
        namespace_name.empty() ? "" : " in namespace " + std::string{namespace_name};
    if (matches.empty()) {
        return make_error(ErrorCode::JobNotFound, "there is no job or pod named " +
                                                      std::string{name} + where +
                                                      "; `gpuctl get jobs` lists them");
    }
    if (matches.size() == 1) return matches.front();
    Error error =
        make_error(ErrorCode::JobAmbiguous,
                   std::to_string(matches.size()) + " jobs are named " + std::string{name} + where +
                       ": use one of these names" +
                       (namespace_name.empty() ? ", or name the namespace (-n, ?namespace=)" : ""));
    std::sort(matches.begin(), matches.end(),
              [](const Named& a, const Named& b) { return *a.key < *b.key; });
    // The kind is written in front only if jobs of one namespace have the same shown name.
    const auto same_namespace = [](const Named& a, const Named& b) {
        return a.key->namespace_name == b.key->namespace_name;
    };
    const bool by_kind =
        std::adjacent_find(matches.begin(), matches.end(), same_namespace) != matches.end();
    for (const Named& job : matches) {
        error.details.push_back({Place{}, by_kind
                                              ? job.key->namespace_name + "/" + whole_name(*job.key)
                                              : to_string(*job.key)});
    }
    return error;
}

JobView summary_of(const ClusterState& state, const Named& job) {
    return view_parts::summary_view(*state.jobs.finished_jobs().find(*job.key));
}

}  // namespace

Result<JobView> find_job(const ClusterState& state, std::string_view namespace_name,
                         std::string_view name) {
    const Result<Named> found =
        only_one(jobs_called(state, namespace_name, name), namespace_name, name);
    if (!found) return found.error();
    if (!found->id.exists()) return summary_of(state, *found);
    JobView view = view_parts::view_of(state, found->id);
    if (state.job(found->id).waiting.in_class.exists()) {
        const view_parts::Positions positions = view_parts::positions(state);
        const view_parts::Starts starts = view_parts::starts(state, positions);
        if (const auto place = positions.find(found->id); place != positions.end()) {
            view.position = place->second;
        }
        if (const auto start = starts.find(found->id); start != starts.end()) {
            view.start = start->second;
        }
    }
    view_parts::add_waiting(state, found->id, view_parts::first_blocker(state, found->id), view);
    return view;
}

Result<JobView> find_job(Listing& listing, std::string_view namespace_name, std::string_view name) {
    const ClusterState& state = listing.state();
    const Result<Named> found =
        only_one(jobs_called(listing, namespace_name, name), namespace_name, name);
    if (!found) return found.error();
    if (!found->id.exists()) return summary_of(state, *found);
    JobView view = view_parts::view_of(state, found->id);
    view.position = listing.position_of(found->id);
    view.start = listing.start_of(found->id);
    view_parts::add_waiting(state, found->id, listing.first_blocker(found->id), view);
    return view;
}

std::vector<Explanation> reasons_to_wait(const ClusterState& state, JobId job,
                                         const Readiness& ready) {
    return explain(state, job, ready);
}

std::vector<Explanation> explain_job(const ClusterState& state, const ObjectKey& job) {
    const JobId id = state.jobs.find_job(job);
    if (!id.exists()) return {};
    std::vector<Explanation> all = explain(state, id);
    explain_any_queue(state, id, all);
    explain_holders(state, id, all);
    if (!all.empty()) return all;
    if (auto missing = explain_missing_pods(state, state.job(id)))
        all.push_back(std::move(*missing));
    return all;
}

}  // namespace gpuctl
