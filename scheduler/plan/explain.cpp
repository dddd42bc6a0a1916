#include "scheduler/plan/explain.hpp"

#include <algorithm>

#include "scheduler/model/quantity.hpp"
#include "scheduler/plan/placer.hpp"

namespace gpuctl {
namespace {

std::string gpus(std::int64_t milli) { return format_gpus(GpuMilli{milli}); }
std::string gpus_noun(std::int64_t milli) {
    return gpus(milli) + (milli == kGpuMilliPerGpu ? " GPU" : " GPUs");
}
std::string count(std::int64_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
}
template <typename Names>
std::string listed(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

// So many pods of one shape.
struct Group {
    ShapeId shape;
    std::int64_t ranks = 0;
};

// What must find room for the job to move: a gang's missing ranks, or any one pod of the others.
std::vector<Group> groups_of(const ClusterState& state, const Readiness& ready) {
    std::vector<Group> groups;
    std::size_t pods = ready.pods.size();
    if (ready.all_or_nothing) {
        pods = std::min(pods, static_cast<std::size_t>(ready.ranks_needed));
    }
    for (std::size_t i = 0; i < pods; ++i) {
        const ShapeId shape = state.pod(ready.pods[i]).shape;
        const auto known = std::find_if(groups.begin(), groups.end(),
                                        [&](const Group& group) { return group.shape == shape; });
        if (known == groups.end()) {
            groups.push_back({shape, 1});
        } else if (ready.all_or_nothing) {
            ++known->ranks;
        }
    }
    return groups;
}

std::string pool_part(const ClusterState& state, PoolId pool, const NodeSurvey& seen) {
    const std::string& name = state.pool(pool).name;
    if (seen.nodes_matching == seen.nodes_pool) return "pool " + name + " has ";
    return "the " + count(seen.nodes_matching, "node", "nodes") + " of pool " + name +
           " that it may use " + (seen.nodes_matching == 1 ? "has " : "have ");
}

std::string asks(std::int64_t gpus_each, std::int64_t ranks) {
    if (ranks == 1) return "needs " + gpus_noun(gpus_each) + " on one node";
    return "needs " + gpus_noun(gpus_each * ranks) + " on " + std::to_string(ranks) + " nodes (" +
           gpus(gpus_each) + " each)";
}

Reason reason_of(ColumnKind kind) {
    switch (kind) {
        case ColumnKind::gpu:
            return Reason::gpu_insufficient;
        case ColumnKind::cpu:
            return Reason::cpu_insufficient;
        case ColumnKind::memory:
            return Reason::memory_insufficient;
        case ColumnKind::pod_slots:
            return Reason::pod_slots_insufficient;
        case ColumnKind::extended:
            return Reason::extended_insufficient;
    }
    return Reason::extended_insufficient;
}

std::string amount_text(ColumnKind kind, const std::string& resource, std::int64_t amount) {
    switch (kind) {
        case ColumnKind::gpu:
            return gpus_noun(amount);
        case ColumnKind::cpu:
            return format_cpu(CpuMilli{amount}) + " CPU";
        case ColumnKind::memory:
            return format_bytes(Bytes{amount}) + " memory";
        case ColumnKind::pod_slots:
            return count(amount, "pod slot", "pod slots");
        case ColumnKind::extended:
            return std::to_string(amount) + " " + resource;
    }
    return std::to_string(amount);
}

void add_need_figures(ColumnKind kind, const NodeSurvey::OfNeed& of, Explanation& out) {
    const char* name = kind == ColumnKind::cpu      ? "cpu"
                       : kind == ColumnKind::memory ? "memory"
                                                    : "amount";
    out.figures.push_back({std::string{name} + "_needed", of.need.amount});
    out.figures.push_back({std::string{name} + "_free_on_one_node", of.usable_on_one_node});
}

Explanation with_survey(const NodeSurvey& seen, std::int64_t gpus_each, std::int64_t ranks) {
    Explanation out;
    out.tallies = seen.tallies;
    out.nodes_total = seen.nodes_pool;
    if (gpus_each > 0) {
        out.figures = {{"gpus_needed", gpus_each * ranks},
                       {"gpus_per_rank", gpus_each},
                       {"gpus_free", seen.gpus_free},
                       {"gpus_total", seen.gpus_total},
                       {"gpus_free_on_one_node", seen.gpus_free_on_one_node},
                       {"gpus_largest_node", seen.gpus_largest_node}};
    }
    out.figures.push_back({"ranks_needed", ranks});
    out.figures.push_back({"ranks_fitting", seen.ranks_fitting});
    out.figures.push_back({"ranks_fitting_empty", seen.ranks_fitting_empty});
    out.figures.push_back({"nodes_matching", seen.nodes_matching});
    out.figures.push_back({"nodes_pool", seen.nodes_pool});
    return out;
}

std::string largest_text(const Capacity& capacity, const NodeSurvey& seen) {
    std::string text;
    for (const NodeSurvey::OfNeed& of : seen.needs) {
        if (of.need.column == Column::pod_slots && of.largest_node >= of.need.amount) continue;
        text += (text.empty() ? "" : ", ") + amount_text(capacity.kind(of.need.column),
                                                         capacity.resource(of.need.column),
                                                         of.largest_node);
    }
    return text;
}

// Ranks of one shape that do not find room; nothing when they do.
std::optional<Explanation> explain_group(const ClusterState& state, const JobRow& job,
                                         const Group& group) {
    const Capacity& capacity = state.capacity();
    const Shape& shape = state.shapes().at(group.shape);
    const NodeSurvey seen = survey(state, job.pool, shape, group.ranks);
    if (seen.ranks_fitting >= group.ranks) return std::nullopt;
    std::int64_t gpus_each = 0;
    for (const Need& need : shape.needs) {
        if (need.column == shape.index_column && capacity.kind(need.column) == ColumnKind::gpu) {
            gpus_each = need.amount;
        }
    }
    Explanation out = with_survey(seen, gpus_each, group.ranks);
    const std::string& pool = state.pool(job.pool).name;
    const std::string wants = gpus_each > 0 ? asks(gpus_each, group.ranks)
                                            : "needs room for " + count(group.ranks, "pod", "pods");
    if (seen.nodes_pool == 0) {
        out.reason = Reason::pool_empty;
        out.subject = pool;
        out.sentence = wants + "; pool " + pool + " has no node";
        return out;
    }
    if (seen.nodes_matching == 0) {
        out.reason = Reason::no_matching_node;
        out.subject = pool;
        out.sentence = "none of the " + count(seen.nodes_pool, "node", "nodes") + " of pool " +
                       pool + " satisfies its selectors, tolerations and GPU model";
        return out;
    }
    if (seen.ranks_fitting_empty == 0) {
        out.reason = Reason::never_fits;
        out.subject = pool;
        out.sentence = wants + "; no node of pool " + pool + " is large enough even when empty, " +
                       "the largest offers " + largest_text(capacity, seen);
        return out;
    }
    const auto short_of = std::find_if(
        seen.needs.begin(), seen.needs.end(),
        [&](const NodeSurvey::OfNeed& of) { return of.ranks_fitting_so_far < group.ranks; });
    const ColumnKind kind = capacity.kind(short_of->need.column);
    out.reason = reason_of(kind);
    out.subject = capacity.resource(short_of->need.column);
    if (kind == ColumnKind::gpu && short_of->need.column == shape.index_column) {
        if (seen.gpus_free >= gpus_each * group.ranks) {
            out.reason = short_of->ranks_fitting_so_far == 0 || group.ranks == 1
                             ? Reason::gpu_fragmented
                             : Reason::nodes_insufficient;
        }
        out.sentence = wants + "; " + pool_part(state, job.pool, seen) + gpus(seen.gpus_free) +
                       " of " + gpus_noun(seen.gpus_total) + " free, at most " +
                       gpus(seen.gpus_free_on_one_node) + " on one node";
        if (group.ranks > 1) {
            out.sentence += ", room for " + std::to_string(seen.ranks_fitting) + " of " +
                            std::to_string(group.ranks) + " ranks";
        }
        return out;
    }
    add_need_figures(kind, *short_of, out);
    out.sentence = wants + " with " + amount_text(kind, out.subject, short_of->need.amount) +
                   (group.ranks > 1 ? " each; " : "; ") + pool_part(state, job.pool, seen) +
                   "at most " + amount_text(kind, out.subject, short_of->usable_on_one_node) +
                   " free on one node, room for " + std::to_string(seen.ranks_fitting) + " of " +
                   count(group.ranks, "rank", "ranks");
    return out;
}

Explanation plain(Reason reason, std::string subject, std::string sentence) {
    Explanation out;
    out.reason = reason;
    out.subject = std::move(subject);
    out.sentence = std::move(sentence);
    return out;
}

// Each shape of a mixed gang finds room by itself; do they together? Asked on a copy of the world.
std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready) {
    Capacity copy = state.capacity();
    Placer placer;
    std::vector<Placement> out;
    std::vector<PodId> pods = ready.pods;
    pods.resize(std::min(pods.size(), static_cast<std::size_t>(ready.ranks_needed)));
    if (placer.place_all(state, copy, job.pool, pods, out)) return std::nullopt;
    const PoolRow& pool = state.pool(job.pool);
    Explanation found = plain(Reason::nodes_insufficient, pool.name,
                              "needs room for " + std::to_string(pods.size()) +
                                  " ranks of different size at once; pool " + pool.name +
                                  " has room for each kind, but not for all together");
    found.nodes_total = pool.nodes;
    found.figures = {{"ranks_needed", static_cast<std::int64_t>(pods.size())}};
    return found;
}

struct Asked {
    GpuMilli gpus;
    CpuMilli cpu;
    Bytes memory;
};

Asked asked(const ClusterState& state, const std::vector<Group>& groups, bool all) {
    Asked sum;
    for (const Group& group : groups) {
        const Shape& shape = state.shapes().at(group.shape);
        sum.gpus += shape.gpus * group.ranks;
        sum.cpu += shape.cpu * group.ranks;
        sum.memory += shape.memory * group.ranks;
        if (!all) break;
    }
    return sum;
}

Explanation over_limit(std::string subject, std::string holder, Reason reason,
                       const std::string& unit, std::int64_t limit, std::int64_t held,
                       std::int64_t needed, const std::string& limit_text,
                       const std::string& held_text, const std::string& needed_text) {
    Explanation out =
        plain(reason, std::move(subject),
              holder + " may hold " + limit_text + " and holds " + held_text + "; it needs " +
                  needed_text + (needed > limit ? ", more than it may ever hold" : ""));
    out.figures = {{unit + "_limit", limit}, {unit + "_held", held}, {unit + "_needed", needed}};
    return out;
}

void explain_limits(const ClusterState& state, const JobRow& job, const Asked& ask,
                    std::vector<Explanation>& out) {
    if (job.priority >= kSystemPriority) return;
    const QueueRow& queue = state.queue(job.queue);
    if (queue.maximum && ask.gpus > GpuMilli{0} && queue.held + ask.gpus > *queue.maximum) {
        out.push_back(over_limit(
            queue.name, "queue " + queue.name + " of pool " + state.pool(queue.pool).name,
            Reason::queue_limit, "gpus", queue.maximum->value(), queue.held.value(),
            ask.gpus.value(), gpus_noun(queue.maximum->value()), gpus(queue.held.value()),
            gpus(ask.gpus.value())));
    }
    const TenantRow& tenant = state.tenant(job.tenant);
    const std::string who = "namespace " + tenant.name;
    if (tenant.gpu_maximum && ask.gpus > GpuMilli{0} &&
        tenant.gpus_held + ask.gpus > *tenant.gpu_maximum) {
        out.push_back(over_limit(tenant.name, who, Reason::tenant_quota, "gpus",
                                 tenant.gpu_maximum->value(), tenant.gpus_held.value(),
                                 ask.gpus.value(), gpus_noun(tenant.gpu_maximum->value()),
                                 gpus(tenant.gpus_held.value()), gpus(ask.gpus.value())));
    }
    if (tenant.cpu_maximum && ask.cpu > CpuMilli{0} &&
        tenant.cpu_held + ask.cpu > *tenant.cpu_maximum) {
        out.push_back(over_limit(tenant.name, who, Reason::tenant_quota, "cpu",
                                 tenant.cpu_maximum->value(), tenant.cpu_held.value(),
                                 ask.cpu.value(), format_cpu(*tenant.cpu_maximum) + " CPU",
                                 format_cpu(tenant.cpu_held), format_cpu(ask.cpu)));
    }
    if (tenant.memory_maximum && ask.memory > Bytes{0} &&
        tenant.memory_held + ask.memory > *tenant.memory_maximum) {
        out.push_back(over_limit(tenant.name, who, Reason::tenant_quota, "memory",
                                 tenant.memory_maximum->value(), tenant.memory_held.value(),
                                 ask.memory.value(),
                                 format_bytes(*tenant.memory_maximum) + " memory",
                                 format_bytes(tenant.memory_held), format_bytes(ask.memory)));
    }
}

std::vector<std::string> existing_pools(const ClusterState& state) {
    std::vector<std::string> names;
    for (const auto& [name, id] : state.pools_by_name()) {
        if (state.pool_exists(id)) names.push_back(name);
    }
    return names;
}

std::vector<std::string> existing_queues(const ClusterState& state, PoolId pool) {
    std::vector<std::string> names;
    for (const QueueId id : state.pool(pool).queues) names.push_back(state.queue(id).name);
    std::sort(names.begin(), names.end());
    return names;
}

std::string bar_text(const ClusterState& state, const JobRow& job) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.standing != PodStanding::waiting || pod.bar == PodBar::none) continue;
        switch (pod.bar) {
            case PodBar::elsewhere:
                return "pod " + pod.facts.key.name + " was bound by another scheduler";
            case PodBar::gone:
                return "pod " + pod.facts.key.name + " is gone in this incarnation";
            case PodBar::refused:
                return "binding pod " + pod.facts.key.name + " was refused (" + pod.message +
                       "); it is tried again when the pod changes";
            case PodBar::none:
                break;
        }
    }
    return "";
}

Explanation explain_hold(const ClusterState& state, const JobRow& job, const Readiness& ready) {
    Explanation out;
    out.reason = ready.hold;
    out.subject = ready.subject;
    if (job.pool.exists()) out.nodes_total = state.pool(job.pool).nodes;
    const std::string pool = job.pool_wanted;
    const auto gang_figures = [&] {
        out.figures = {{"ranks_min", ready.ranks_min},
                       {"ranks_present", ready.ranks_ready + ready.ranks_held},
                       {"ranks_gated", ready.ranks_gated}};
    };
    switch (ready.hold) {
        case Reason::pool_unknown:
            out.sentence =
                "pool " + pool + " does not exist; there are: " + listed(existing_pools(state));
            break;
        case Reason::queue_unknown:
            out.sentence = "queue " + ready.subject + " does not exist in pool " + pool +
                           "; there are: " + listed(existing_queues(state, job.pool));
            break;
        case Reason::gang_size_unknown:
            out.sentence =
                "nothing says how many ranks its gang has: a PodGroup object or the annotation "
                "gang-min on its pods is missing";
            break;
        case Reason::gang_incomplete:
            gang_figures();
            out.sentence = "its gang needs " + count(ready.ranks_min, "rank", "ranks") + ", " +
                           std::to_string(ready.ranks_ready + ready.ranks_held) + " exist";
            break;
        case Reason::gated:
            gang_figures();
            out.sentence = count(ready.ranks_gated, "pod has", "pods have") +
                           " scheduling gates that are closed";
            break;
        case Reason::unsupported_feature:
            out.sentence = "it uses " + ready.subject + ", which is not supported yet";
            break;
        case Reason::turn:
            out.sentence = "its other ranks are being bound";
            break;
        default: {
            out.sentence = bar_text(state, job);
            if (!out.sentence.empty()) break;
            if (job.not_before > state.now()) {
                out.figures = {{"retry_in_ms", (job.not_before - state.now()).ms()},
                               {"failures", job.bind_failures}};
                std::string why;
                for (const PodId id : job.pods) {
                    if (why.empty()) why = state.pod(id).message;
                }
                out.sentence = "binding failed " + count(job.bind_failures, "time", "times") +
                               (why.empty() ? "" : " (" + why + ")") + "; tried again in " +
                               std::to_string((job.not_before - state.now()).ms()) + " ms";
            } else {
                out.sentence = "its gang is being rolled back";
            }
        }
    }
    return out;
}

}  // namespace

std::vector<Explanation> explain(const ClusterState& state, JobId id, const Readiness& ready) {
    std::vector<Explanation> out;
    if (!ready.waits) return out;
    const JobRow& job = state.job(id);
    if (!state.synced()) {
        out.push_back(plain(Reason::not_synced, "", "the cluster has not been read completely"));
    } else if (!state.leading()) {
        out.push_back(plain(Reason::not_leader, "", "another gpuctld is in charge"));
    }
    if (ready.hold != Reason::none) {
        out.push_back(explain_hold(state, job, ready));
        return out;
    }
    const std::vector<Group> groups = groups_of(state, ready);
    explain_limits(state, job, asked(state, groups, ready.all_or_nothing), out);
    bool has_room = true;
    for (const Group& group : groups) {
        std::optional<Explanation> found = explain_group(state, job, group);
        if (!found) {
            if (!ready.all_or_nothing) break;  // any pod that fits moves the job on
            continue;
        }
        has_room = false;
        out.push_back(std::move(*found));
        if (ready.all_or_nothing) break;
    }
    if (has_room && ready.all_or_nothing && groups.size() > 1) {
        if (std::optional<Explanation> found = explain_mix(state, job, ready)) {
            out.push_back(std::move(*found));
        }
    }
    if (ready.resume && !out.empty()) {
        Explanation half = out.front();
        half.reason = Reason::gang_half_bound;
        half.subject = job.key.name;
        half.sentence = std::to_string(ready.ranks_held) + " of " +
                        count(ready.ranks_min, "rank", "ranks") +
                        " are bound, the rest cannot be: " + half.sentence;
        half.figures.push_back({"ranks_min", ready.ranks_min});
        half.figures.push_back({"ranks_present", ready.ranks_held});
        out.insert(out.begin(), std::move(half));
    }
    if (out.empty()) {
        out.push_back(plain(Reason::turn, job.queue.exists() ? state.queue(job.queue).name : "",
                            "nothing stands in its way; it is tried at the next turn of its "
                            "queue"));
    }
    return out;
}

std::vector<Explanation> explain(const ClusterState& state, JobId id) {
    Readiness ready;
    state.read_readiness(id, ready);
    return explain(state, id, ready);
}

}  // namespace gpuctl
