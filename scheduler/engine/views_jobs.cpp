// Jobs as people see them.

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "scheduler/engine/missing_pods.hpp"
#include "scheduler/engine/view_parts.hpp"
#include "scheduler/plan/explain.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/present_run.hpp"

namespace gpuctl {
namespace {

struct Tally {
    std::int64_t pending = 0;
    std::int64_t running = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t terminating = 0;
};

bool is_service(const JobRow& job) {
    return job.record && (job.record->spec.kind == JobKind::inference ||
                          job.record->spec.kind == JobKind::compute);
}

std::int64_t pods_wanted(const JobRow& job) {
    if (!job.record) {
        const PastEnds past = past_ends(job);
        return std::ssize(job.pods) + job.finished.count() + past.succeeded + past.failed;
    }
    const JobSpec& spec = job.record->spec;
    if (ClusterState::is_elastic(job)) return job.elastic.wanted;
    const bool is_scaled = spec.kind != JobKind::training && job.workload_facts;
    if (is_scaled && job.workload_facts->replicas >= 0) return job.workload_facts->replicas;
    return is_service(job) ? spec.service.replicas : spec.replicas_max;
}

std::string status_of(const JobRow& job, const Tally& tally, std::int64_t wanted) {
    if (job.workload == WorkloadState::deleting) return "Terminating";
    if (job.workload == WorkloadState::failed) return "Failed";
    const std::int64_t live = tally.pending + tally.running;
    if (live == 0 && tally.terminating > 0) return "Terminating";
    if (tally.running > 0) {
        const bool all = tally.running >= wanted || tally.pending == 0;
        return is_service(job) && !all ? "Partially Running" : "Running";
    }
    if (tally.pending > 0) return "Pending";
    if (job.workload_facts) {
        switch (job.workload_facts->phase) {
            case WorkloadPhase::complete:
                return "Succeeded";
            case WorkloadPhase::failed:
                return "Failed";
            case WorkloadPhase::suspended:
                return "Suspended";
            case WorkloadPhase::active:  // pods that failed are made again
                return tally.succeeded > 0 && tally.succeeded >= wanted ? "Succeeded" : "Pending";
        }
    }
    if (tally.succeeded + tally.failed == 0) {  // no pods: not yet, or not any more
        if (job.last_phase == PodPhase::succeeded) return "Succeeded";
        if (job.last_phase == PodPhase::failed) return "Failed";
        return "Pending";
    }
    // A failed pod that a controller replaced does not fail the job; all that wanted to, did.
    if (tally.succeeded >= wanted || tally.failed == 0) return "Succeeded";
    return "Failed";
}

// Waiting jobs are explained once per kind of job: lists stay linear in nodes, not in nodes times
// jobs. Lives for one call.
class Explainer {
public:
    explicit Explainer(const ClusterState& state) : state_(state) {}

    std::optional<Explanation> first(JobId id) {
        const JobRow& job = state_.job(id);
        if (!job.waits_in.exists()) return fresh(id);
        const auto [known, is_new] = of_class_.try_emplace(job.waits_in);
        if (is_new) known->second = fresh(id);
        return known->second;
    }

private:
    std::optional<Explanation> fresh(JobId id) {
        std::vector<Explanation> all = explain(state_, id);
        if (all.empty()) return std::nullopt;
        return std::move(all.front());
    }
    const ClusterState& state_;
    std::map<ClassId, std::optional<Explanation>> of_class_;
};

// What is asked once for all jobs of a view.
struct Lines {
    explicit Lines(const ClusterState& state)
        : positions(view_parts::positions(state)), starts(view_parts::starts(state, positions)) {}
    view_parts::Positions positions;
    view_parts::Starts starts;
};

// What makes it whole, and how far it is, role by role.
void add_gang(const ClusterState& state, const JobRow& job, JobView& view) {
    const std::optional<GangSize> gang = state.gang_of(job);
    if (!gang) return;
    view.gang = true;
    view.ranks_min = gang->ranks;
    if (gang->roles.empty()) return;
    std::map<std::string, std::int64_t> ranks;
    for (const FinishedRole& one : job.finished.roles) {
        ranks[one.role] += static_cast<std::int64_t>(one.ranks.size());
    }
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool holds = pod.node.exists() && pod.standing != PodStanding::claimed;
        if (holds || pod.facts.phase == PodPhase::succeeded) ++ranks[pod.facts.role];
    }
    for (const RoleMinimum& role : gang->roles) view.roles.push_back({role, ranks[role.role]});
}

JobView view_of(const ClusterState& state, JobId id, const Lines& lines, Explainer& explainer) {
    const JobRow& job = state.job(id);
    JobView view;
    view.key = job.key;
    view.never_made = job.workload == WorkloadState::failed && job.pods.empty();
    if (job.record) {
        view.kind = job.record->spec.kind;
        view.record = &*job.record;
        view.gpus_per_pod = gpus_total(pod_request(job.record->spec));
    }
    const bool in_a_queue = job.priority < kSystemPriority;  // ruling 20
    if (in_a_queue) view.queue = state.queue_name_of(job);
    view.pool = job.pool_wanted;
    view.priority = job.priority;
    view.submitted_at = job.submitted_at;
    view.started_at = run_began(state, job);
    view.finished_at = job.finished_at;
    const PastEnds past = past_ends(job);
    Tally tally;
    tally.succeeded = job.finished.count() + past.succeeded;
    tally.failed = past.failed;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state.pod(pod_id);
        view.pods.push_back(view_parts::pod_view(state, pod_id));
        if (!job.record) view.gpus_per_pod = state.shapes().at(pod.shape).gpus;
        view.finished_at = std::max(view.finished_at, pod.facts.finished_at);
        if (pod.facts.phase == PodPhase::succeeded) {
            ++tally.succeeded;
        } else if (pod.facts.phase == PodPhase::failed) {
            ++tally.failed;
        } else if (pod.facts.terminating) {
            ++tally.terminating;
        } else if (pod.facts.phase == PodPhase::running) {
            ++tally.running;
        } else {
            ++tally.pending;
        }
    }
    std::sort(view.pods.begin(), view.pods.end(), [](const PodView& a, const PodView& b) {
        return std::tie(a.facts.rank, a.facts.key.name) < std::tie(b.facts.rank, b.facts.key.name);
    });
    add_gang(state, job, view);
    if (ClusterState::is_elastic(job)) {
        view.ranks_max = job.record->spec.replicas_max;
        view.size = explain_size(state, id);
    }
    view.pods_wanted = pods_wanted(job);
    view.pods_running = tally.running;
    view.status = status_of(job, tally, view.pods_wanted);
    if (view.status != "Succeeded" && view.status != "Failed") view.finished_at = Instant{};
    if (const auto found = lines.positions.find(id); found != lines.positions.end()) {
        view.position = found->second;
    }
    if (const auto found = lines.starts.find(id); found != lines.starts.end()) {
        view.start = found->second;
    }
    view.waiting = explainer.first(id);
    if (!view.waiting) view.waiting = explain_missing_pods(state, job);
    if (!view.waiting && !job.message.empty()) {  // no pod waits, the workload itself does
        view.waiting.emplace();
        view.waiting->sentence = job.message;
    }
    return view;
}

bool passes(const JobView& view, const JobFilter& filter) {
    return (!filter.namespace_name || *filter.namespace_name == view.key.namespace_name) &&
           (!filter.pool || *filter.pool == view.pool) &&
           (!filter.kind || (view.kind && *filter.kind == *view.kind)) &&
           (!filter.made_elsewhere || !view.kind) &&
           (!filter.status || same_without_case(*filter.status, view.status));
}

}  // namespace

namespace view_parts {

// The order in which the waiting jobs of each queue would be tried if all of them fitted.
Positions positions(const ClusterState& state) {
    Positions out;
    Line line;
    for (const auto& [pool_name, pool] : state.pools_by_name()) {
        line.leavers.read(state, pool);
        for (const QueueId queue : state.pool(pool).queues) {
            std::vector<Contender> waiting;
            for (const ClassId id : state.book().of_queue(queue)) {
                for (const WaitingJob& job : state.book().at(id).jobs) {
                    waiting.push_back({id, &state.book().at(id), job});
                }
            }
            std::sort(waiting.begin(), waiting.end(), [&](const Contender& a, const Contender& b) {
                return job_comes_first(state, queue, line, a, b);
            });
            for (std::size_t i = 0; i < waiting.size(); ++i) {
                out[waiting[i].job.job] = static_cast<std::int64_t>(i) + 1;
            }
        }
    }
    return out;
}

Starts starts(const ClusterState& state, const Positions& positions) {
    std::map<PoolId, std::vector<JobId>> lines;
    for (const auto& [id, position] : positions) lines[state.job(id).pool].push_back(id);
    Starts out;
    for (auto& [pool, line] : lines) {
        const auto turn = [&](JobId id) {
            const JobRow& job = state.job(id);
            const bool is_system = job.queue == state.system_queue(job.pool);
            return std::tuple(!is_system, -std::int64_t{state.queue(job.queue).priority},
                              positions.at(id), job.arrival);
        };
        std::sort(line.begin(), line.end(), [&](JobId a, JobId b) { return turn(a) < turn(b); });
        out.merge(estimate_starts(state, pool, line));
    }
    return out;
}

PodView pod_view(const ClusterState& state, PodId id) {
    const PodRow& pod = state.pod(id);
    PodView view{pod.facts, pod.standing, "", kNoDevice};
    if (pod.standing == PodStanding::claimed) return view;  // somebody else is there still
    if (pod.node.exists()) {
        view.node = state.node(pod.node).facts.name;
        view.gpu_device = pod.gpu_device;
    } else if (pod.standing == PodStanding::done || pod.standing == PodStanding::foreign) {
        view.node = pod.facts.node;
    }
    return view;
}

}  // namespace view_parts

std::vector<JobView> list_jobs(const ClusterState& state, const JobFilter& filter) {
    const Lines lines{state};
    Explainer explainer{state};
    std::vector<JobView> out;
    for (const auto& [key, id] : state.jobs_by_key()) {
        if (filter.namespace_name && *filter.namespace_name != key.namespace_name) continue;
        JobView view = view_of(state, id, lines, explainer);
        if (passes(view, filter)) out.push_back(std::move(view));
    }
    for (const auto& [key, job] : state.finished_jobs().by_key()) {
        JobView view = view_parts::summary_view(job);
        if (passes(view, filter)) out.push_back(std::move(view));
    }
    // The keys of lone pods carry a prefix that nobody sees.
    std::stable_sort(out.begin(), out.end(), [](const JobView& a, const JobView& b) {
        const int by_namespace = a.key.namespace_name.compare(b.key.namespace_name);
        return by_namespace != 0 ? by_namespace < 0 : shown_name(a.key) < shown_name(b.key);
    });
    return out;
}

namespace {

// "Deployment" of "Deployment.6d8f:web", "DaemonSet@gpu" of "DaemonSet.6d8f@gpu:agent"; of the job
// of a name alone, nothing.
std::string maker_of(const std::string& key) {
    const std::size_t colon = key.find(':');
    if (colon == std::string::npos) return "";
    const std::size_t pool = std::min(key.find(kPoolSign), colon);
    return key.substr(0, std::min(key.find('.'), pool)) + key.substr(pool, colon - pool);
}

// A job by one of its names; of those that are summarized there is no id.
struct Named {
    const ObjectKey* key = nullptr;
    std::uint64_t arrival = 0;
    JobId id;
};

// Of several revisions of one Deployment the latest is meant.
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

// A whole name is one job's. Else the name that people know wins over a pod that is called so.
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
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const auto is_named = [&](PodId pod) { return state.pod(pod).facts.key.name == name; };
        consider({&key, job.arrival, id},
                 [&] { return std::any_of(job.pods.begin(), job.pods.end(), is_named); });
    }
    for (const auto& [key, job] : state.finished_jobs().by_key()) {
        const auto is_named = [&](const EndedPod& pod) { return name_of(pod, job.key) == name; };
        consider({&key, job.arrival, JobId::none()}, [&] {
            return std::any_of(job.ended_pods.begin(), job.ended_pods.end(), is_named);
        });
    }
    keep_latest(by_name);
    return by_name.empty() ? by_pod : by_name;
}

}  // namespace

Result<JobView> find_job(const ClusterState& state, std::string_view namespace_name,
                         std::string_view name) {
    const std::vector<Named> matches = jobs_called(state, namespace_name, name);
    const std::string where =
        namespace_name.empty() ? "" : " in namespace " + std::string{namespace_name};
    if (matches.empty()) {
        return make_error(ErrorCode::JobNotFound,
                          "there is no job or pod named " + std::string{name} + where);
    }
    if (matches.size() > 1) {
        const char* const help = namespace_name.empty()
                                     ? ": say the namespace, or the whole name as listed"
                                     : ": say the whole name as listed";
        Error error = make_error(
            ErrorCode::JobAmbiguous,
            std::to_string(matches.size()) + " jobs are named " + std::string{name} + where + help);
        for (const Named& job : matches) {
            error.details.push_back(
                {Place{}, job.key->namespace_name + "/" + whole_name(*job.key)});
        }
        return error;
    }
    const Named& found = matches.front();
    if (!found.id.exists())
        return view_parts::summary_view(*state.finished_jobs().find(*found.key));
    Explainer explainer{state};
    return view_of(state, found.id, Lines{state}, explainer);
}

std::vector<Explanation> explain_job(const ClusterState& state, const ObjectKey& job) {
    const JobId id = state.find_job(job);
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
