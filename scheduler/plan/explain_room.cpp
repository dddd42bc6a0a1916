// Where a job's ranks find no room, counted over the nodes of its pool.

#include <algorithm>

#include "scheduler/model/quantity.hpp"
#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/placer.hpp"

namespace gpuctl {

using explain_parts::count;
using explain_parts::gpus;
using explain_parts::gpus_noun;

namespace {

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

}  // namespace

namespace explain_parts {

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

std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready) {
    Capacity copy = state.capacity();
    Placer placer;
    std::vector<Placement> out;
    std::vector<PodId> pods = ready.pods;
    pods.resize(std::min(pods.size(), static_cast<std::size_t>(ready.ranks_needed)));
    if (placer.place_all(state, copy, job.pool, pods, out)) return std::nullopt;
    Explanation found;
    found.reason = Reason::nodes_insufficient;
    found.subject = state.pool(job.pool).name;
    found.nodes_total = state.pool(job.pool).nodes;
    found.figures = {{"ranks_needed", static_cast<std::int64_t>(pods.size())}};
    found.sentence = "needs room for " + std::to_string(pods.size()) +
                     " ranks of different size at once; pool " + found.subject +
                     " has room for each kind, but not for all together";
    return found;
}

}  // namespace explain_parts

}  // namespace gpuctl
