#include "daemon/api/jobs/job_rows.hpp"

#include <algorithm>
#include <set>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/engine/views.hpp"
#include "text/duration.hpp"

namespace gpuctl::api {
namespace {

std::string_view kind_of(const JobEntry& entry) {
    return entry.kind ? to_string(*entry.kind) : "pod";
}

std::string_view ready_of(const PodRow& pod) {
    if (pod.bind.state == BindState::waiting || pod.bind.state == BindState::assumed) {
        return kNoContainers;
    }
    return is_ready(pod.facts) ? "1/1" : "0/1";
}

// Each once, in the order of the pods.
std::string nodes_of(const ClusterState& state, const JobEntry& entry) {
    if (entry.summary != nullptr) {
        return entry.summary->nodes.empty() ? std::string{kNotAvailable} : entry.summary->nodes;
    }
    std::string text;
    std::set<std::string_view> seen;
    for (const PodId id : state.job(entry.job).pods) {
        const std::string_view node = shown_node(state, state.pod(id));
        if (node.empty() || !seen.insert(node).second) continue;
        if (!text.empty()) text += ',';
        text += node;
    }
    return text.empty() ? std::string{kNotAvailable} : text;
}

// Of a pod that holds GPUs of a node: the node's model.
std::string model_of_node(const ClusterState& state, const PodRow& pod) {
    const bool has_gpus = gpus_total(pod.facts.request) > GpuMilli{};
    return has_gpus && pod.node.exists() ? state.node(pod.node).facts.gpu_model : std::string{};
}

void append_models(const std::string& first, const std::vector<std::string>& next,
                   std::string& out) {
    out += first;
    for (const std::string& model : next) {
        if (!out.empty()) out += ',';
        out += model;
    }
}

}  // namespace

std::string ready_of(const ClusterState& state, const JobEntry& entry) {
    std::string text = std::to_string(entry.pods_ready) + "/";
    if (entry.summary != nullptr) return text + std::to_string(entry.pods_wanted);
    const JobRow& job = state.job(entry.job);
    if (!ElasticJobs::is_elastic(job)) return text + std::to_string(entry.pods_wanted);
    return text + std::to_string(state.gangs.gang_size(job).value_or(0)) + "-" +
           std::to_string(job.record->spec.replicas_max);
}

std::string gpu_type_of(const ClusterState& state, const JobEntry& entry) {
    if (entry.summary != nullptr) return entry.summary->gpu_type;
    const JobRow& job = state.job(entry.job);
    std::string text;
    if (job.record) {
        append_models(gpu_model_of(job.record->spec), job.record->spec.gpu_types_next, text);
    } else if (!job.pods.empty()) {
        const PlacementRules& rules = state.pod(job.pods.front()).facts.rules;
        append_models(rules.gpu_model, rules.gpu_models_next, text);
    }
    return text;
}

std::string shown_gpu_type(const ClusterState& state, const JobEntry& entry) {
    constexpr std::size_t kModelsMax = 4;
    std::string requested = gpu_type_of(state, entry);
    if (!requested.empty() || entry.summary != nullptr) return requested;
    std::vector<std::string> models;
    for (const PodId id : state.job(entry.job).pods) {
        std::string model = model_of_node(state, state.pod(id));
        const bool is_known = std::find(models.begin(), models.end(), model) != models.end();
        if (model.empty() || is_known) continue;
        models.push_back(std::move(model));
        if (models.size() == kModelsMax) break;
    }
    std::string text;
    append_models("", models, text);
    return text;
}

std::string priority_of(const ClusterState& state, const JobEntry& entry) {
    if (entry.summary == nullptr) {
        const JobRow& job = state.job(entry.job);
        return job.record ? std::string{to_string(job.record->spec.priority)}
                          : std::to_string(job.priority);
    }
    const std::int32_t value = entry.summary->priority;
    for (const JobPriority named : {JobPriority::low, JobPriority::medium, JobPriority::high}) {
        if (entry.kind && priority_value(named) == value) return std::string{to_string(named)};
    }
    return std::to_string(value);
}

void append_start(const std::optional<StartEstimate>& start, std::string& out) {
    if (!start) {
        out += "null";
        return;
    }
    wire::JsonObject object{out};
    object.time_or_null("earliest", start->earliest)
        .time_or_null("likely", start->likely)
        .time_or_null("latest", start->latest)
        .flag("mayBeOvertaken", start->may_be_passed)
        .time_or_null("reservedFrom", start->reserved_from)
        .end();
}

void JobRows::separate() {
    if (!is_first_) out_ += ',';
    is_first_ = false;
}

// Empty: the job does not wait, or its workload reports the reason itself.
std::string_view JobRows::reason_of(const JobEntry& entry) {
    const Reason reason = listing_.reason_of(entry);
    if (reason != Reason::none) return to_string(reason);
    if (entry.summary != nullptr) return {};
    return listing_.state().job(entry.job).workload.message.empty() ? std::string_view{}
                                                                    : to_string(reason);
}

void JobRows::add_common(const JobEntry& entry, GpuMilli gpus, std::string gpu_type,
                         wire::JsonObject& object) {
    const ClusterState& state = listing_.state();
    const ListingNames& names = listing_.names();
    object.text("pool", names.names.name(entry.pool))
        .text("queue", names.names.name(entry.queue))
        .text("priority", priority_of(state, entry))
        .gpus("gpu", gpus)
        .text("gpuType", gpu_type);
}

void JobRows::add_turn(const JobEntry& entry, std::string_view reason, wire::JsonObject& object) {
    if (entry.summary != nullptr) return add_no_turn(object);
    object.text("reason", reason).number("position", listing_.position_of(entry.job));
    append_start(listing_.start_of(entry.job), object.begin("estimatedStart"));
}

void JobRows::add_no_turn(wire::JsonObject& object) {
    object.text("reason", "").number("position", 0).null("estimatedStart");
}

void JobRows::add_members(const JobEntry& entry, const RowStatus& status,
                          wire::JsonObject& object) {
    const bool is_summary = entry.summary != nullptr;
    const Instant submitted_at =
        is_summary ? entry.summary->submitted_at : listing_.state().job(entry.job).submitted_at;
    object.text("jobId", entry.shown_name())
        .text("name", entry.shown_name())
        .text("namespace", entry.key.namespace_name)
        .text("kind", kind_of(entry))
        .text("status", to_string(entry.status))
        .text("ready", status.ready)
        .text("node", nodes_of(listing_.state(), entry))
        .text("ip", kNotAvailable);
    add_common(entry, entry.gpus_per_pod, shown_gpu_type(listing_.state(), entry), object);
    add_turn(entry, status.reason, object);
    object.time("createdAt", submitted_at)
        .time("startedAt", entry.started_at)
        .text("age", format_age(submitted_at, now_))
        .gpus("gpuTotal", entry.gpus_of_all)
        .flag("summary", is_summary);
}

void JobRows::add_job(const JobEntry& entry) {
    separate();
    wire::JsonObject object{out_};
    add_members(entry, {ready_of(listing_.state(), entry), reason_of(entry)}, object);
    object.end();
}

void JobRows::add_without_pods(const JobEntry& entry) {
    separate();
    wire::JsonObject object{out_};
    const bool is_summary = entry.summary != nullptr;
    add_members(entry,
                {is_summary ? ready_of(listing_.state(), entry) : std::string{kNoContainers},
                 reason_of(entry)},
                object);
    object.end();
}

void JobRows::add_pod(const JobEntry& entry, const PodRow& pod) {
    separate();
    const std::string_view node = shown_node(listing_.state(), pod);
    wire::JsonObject object{out_};
    object.text("jobId", pod.facts.key.name)
        .text("name", entry.shown_name())
        .text("namespace", entry.key.namespace_name)
        .text("kind", kind_of(entry))
        .text("status", pod_status(pod.facts))
        .text("ready", ready_of(pod))
        .text("node", node.empty() ? kNotAvailable : node)
        .text("ip", pod.facts.address.empty() ? kNotAvailable : pod.facts.address);
    std::string model = model_of_node(listing_.state(), pod);
    if (model.empty()) model = gpu_type_of(listing_.state(), entry);
    add_common(entry, gpus_total(pod.facts.request), std::move(model), object);
    if (node.empty()) {
        add_turn(entry, reason_of(entry), object);
    } else {  // other pods of its job may wait
        add_no_turn(object);
    }
    object.time("createdAt", pod.facts.created_at)
        .time("startedAt", pod.facts.started_at)
        .text("age", format_age(pod.facts.created_at, now_))
        .end();
}

void JobRows::add_rows(const JobIndex::Rows& rows, const JobSelection& selection) {
    if (!selection.by_pod) return add_job(*rows.job);
    if (rows.job->summary != nullptr) return add_without_pods(*rows.job);
    const ClusterState& state = listing_.state();
    const std::vector<PodId>& pods = state.job(rows.job->job).pods;
    if (pods.empty()) return add_without_pods(*rows.job);
    if (!selection.status) {
        for (std::uint32_t i = rows.first; i < rows.first + rows.count; ++i) {
            add_pod(*rows.job, state.pod(pods[i]));
        }
        return;
    }
    std::uint32_t number = 0;  // of the selected rows
    for (const PodId id : pods) {
        const PodRow& pod = state.pod(id);
        if (!JobIndex::is_selected(*rows.job, pod.facts, selection)) continue;
        if (number >= rows.first + rows.count) return;
        if (number++ >= rows.first) add_pod(*rows.job, pod);
    }
}

namespace {

template <typename Row>
void fetch(const Row& row) {
    constexpr std::size_t kLineBytes = 64;
    const char* const bytes = reinterpret_cast<const char*>(&row);
    for (std::size_t at = 0; at < sizeof row; at += kLineBytes) __builtin_prefetch(bytes + at);
}

// The rows of a page are scattered in memory: prefetching all of them overlaps their cache misses.
void fetch_ahead(const ClusterState& state, const std::vector<JobIndex::Rows>& rows) {
    constexpr std::uint32_t kPodsMost = 64;
    for (const JobIndex::Rows& one : rows) fetch(*one.job);
    for (const JobIndex::Rows& one : rows) {
        if (one.job->summary == nullptr) fetch(state.job(one.job->job));
    }
    const auto visit_pods = [&](auto visit) {
        std::uint32_t left = kPodsMost;
        for (const JobIndex::Rows& one : rows) {
            if (one.job->summary != nullptr) continue;
            const std::vector<PodId>& pods = state.job(one.job->job).pods;
            for (std::uint32_t i = one.first; i < pods.size() && i < one.first + one.count; ++i) {
                if (left-- == 0) return;
                visit(state.pod(pods[i]));
            }
        }
    };
    visit_pods([](const PodRow& pod) { fetch(pod); });
    visit_pods([&](const PodRow& pod) {
        if (pod.node.exists()) __builtin_prefetch(&state.node(pod.node).facts.name);
    });
}

}  // namespace

std::vector<PodId> foreign_pods(const ClusterState& state, const JobSelection& selection) {
    std::vector<PodId> pods;
    const bool wants_pods = selection.by_pod && !selection.kind && !selection.queue;
    if (!wants_pods) return pods;
    for (const auto& [name, node] : state.nodes.nodes_by_name()) {
        if (selection.pool && state.node(node).facts.pool != *selection.pool) continue;
        for (const PodId id : state.node(node).pods) {
            const PodFacts& pod = state.pod(id).facts;
            const bool is_wanted =
                !pod.ours &&
                (!selection.namespace_name ||
                 pod.key.namespace_name == *selection.namespace_name) &&
                (!selection.status || equal_without_case(pod_status(pod), *selection.status));
            if (is_wanted) pods.push_back(id);
        }
    }
    std::sort(pods.begin(), pods.end(),
              [&](PodId a, PodId b) { return state.pod(a).facts.key < state.pod(b).facts.key; });
    return pods;
}

void JobRows::add_foreign_pod(const PodRow& pod) {
    separate();
    const std::string_view node = shown_node(listing_.state(), pod);
    wire::JsonObject object{out_};
    object.text("jobId", pod.facts.key.name)
        .text("name", pod.facts.key.name)
        .text("namespace", pod.facts.key.namespace_name)
        .text("kind", "foreign")
        .text("status", pod_status(pod.facts))
        .text("ready", is_ready(pod.facts) ? "1/1" : "0/1")
        .text("node", node.empty() ? kNotAvailable : node)
        .text("ip", pod.facts.address.empty() ? kNotAvailable : pod.facts.address)
        .text("pool", "")
        .text("queue", "")
        .text("priority", std::to_string(pod.facts.priority))
        .gpus("gpu", gpus_total(pod.facts.request))
        .text("gpuType", "");
    add_no_turn(object);
    object.time("createdAt", pod.facts.created_at)
        .time("startedAt", pod.facts.started_at)
        .text("age", format_age(pod.facts.created_at, now_))
        .end();
}

void JobRows::add_page(const JobSelection& selection, std::int64_t number, std::int64_t size,
                       const std::vector<PodId>& foreign) {
    JobIndex::Page page;
    const auto first = static_cast<std::uint64_t>((number - 1) * size);
    listing_.read_page(selection, first, static_cast<std::uint64_t>(size), page);
    wire::JsonObject object{out_};
    const std::uint64_t total = page.total + foreign.size();
    object.number("total", static_cast<std::int64_t>(total))
        .number("page", number)
        .number("pageSize", size);
    object.begin("items") += '[';
    is_first_ = true;
    fetch_ahead(listing_.state(), page.rows);
    for (const JobIndex::Rows& rows : page.rows) add_rows(rows, selection);
    const std::uint64_t end = std::min(first + static_cast<std::uint64_t>(size), total);
    for (std::uint64_t at = std::max<std::uint64_t>(first, page.total); at < end; ++at) {
        add_foreign_pod(listing_.state().pod(foreign[at - page.total]));
    }
    out_ += ']';
    add_removed(selection, object.begin("finishedRemoved"));
    object.end();
}

// Finished jobs that are deleted, of one namespace or of all, and the limits that caused it.
void JobRows::add_removed(const JobSelection& selection, std::string& out) const {
    const ClusterState& state = listing_.state();
    RemovedJobs sum;
    const FinishedJobs::Removed& removed = state.jobs.finished_jobs().removed();
    if (selection.namespace_name) {
        const auto known = removed.find(*selection.namespace_name);
        if (known != removed.end()) sum = known->second;
    } else {
        for (const auto& [of, jobs] : removed) {
            sum.count += jobs.count;
            sum.last_at = std::max(sum.last_at, jobs.last_at);
        }
    }
    wire::JsonObject object{out};
    object.number("count", static_cast<std::int64_t>(sum.count))
        .time("lastAt", sum.last_at)
        .number("maximum", state.policy().finished_jobs_maximum)
        .text("retention", text::format_duration(state.policy().finished_jobs_kept_for))
        .end();
}

}  // namespace gpuctl::api
