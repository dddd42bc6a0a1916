// Where a job's ranks find no room, counted over the nodes of its pool.

#include <algorithm>

#include "scheduler/model/quantity.hpp"
#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/placer.hpp"

namespace gpuctl {

using explain_parts::amount_text;
using explain_parts::count;
using explain_parts::gpus;
using explain_parts::gpus_noun;
using explain_parts::has_rests;
using explain_parts::reason_of;

namespace {

// Where it may not use all nodes of its pool.
std::string its_nodes(const ClusterState& state, PoolId pool, const NodeSurvey& seen) {
    return "the " + count(seen.nodes_matching, "node", "nodes") + " of pool " +
           state.pool(pool).name + " that it may use";
}

std::string pool_part(const ClusterState& state, PoolId pool, const NodeSurvey& seen) {
    if (seen.nodes_matching == seen.nodes_pool) return "pool " + state.pool(pool).name + " has ";
    return its_nodes(state, pool, seen) + (seen.nodes_matching == 1 ? " has " : " have ");
}

std::string part_of_gpu(std::int64_t milli) {
    return std::to_string(milli) + "/" + std::to_string(kGpuMilliPerGpu);
}

std::string asks(const std::string& resource, std::int64_t gpus_each, std::int64_t ranks) {
    if (is_part_of_gpu(GpuMilli{gpus_each})) {
        return "needs " + part_of_gpu(gpus_each) + " of one GPU" +
               (ranks == 1 ? "" : " for each of " + count(ranks, "rank", "ranks"));
    }
    if (ranks == 1) return "needs " + gpus_noun(resource, gpus_each) + " on one node";
    // Ranks may share a node: the number of nodes it takes depends on the nodes.
    return "needs " + gpus_noun(resource, gpus_each * ranks) + " for " +
           count(ranks, "rank", "ranks") + " (" + gpus(gpus_each) + " each)";
}

// The beginning of the sentence.
struct Wants {
    std::int64_t gpus_each = 0;
    std::int64_t ranks = 0;
    std::string text;
    [[nodiscard]] std::string with(const std::string& amount) const {
        return " with " + amount + (ranks > 1 ? " each" : "");
    }
};

bool counts_bytes(const std::string& resource) {
    return resource == "ephemeral-storage" || resource.starts_with("hugepages-");
}

// Beyond the most that is counted with, how much more was asked for is not known any more.
std::string need_text(const Capacity& capacity, const Need& need) {
    return (need.amount >= kAmountMax ? "at least " : "") +
           amount_text(capacity.kind(need.column), capacity.resource(need.column), need.amount);
}

// What a node must have before it is asked about this need: "8 GPUs and 4 CPU".
std::string needs_before(const Capacity& capacity, const NodeSurvey& seen,
                         const NodeSurvey::OfNeed& of) {
    std::string text;
    for (const NodeSurvey::OfNeed& before : seen.needs) {
        if (before.need.column == of.need.column) break;
        text += (text.empty() ? "" : " and ") + need_text(capacity, before.need);
    }
    return text;
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
        if (is_part_of_gpu(GpuMilli{gpus_each})) {
            out.figures.push_back({"gpu_free_on_one_device", seen.gpu_free_on_one_device});
        }
    }
    out.figures.push_back({"ranks_needed", ranks});
    out.figures.push_back({"ranks_fitting", seen.ranks_fitting});
    out.figures.push_back({"ranks_fitting_empty", seen.ranks_fitting_empty});
    out.figures.push_back({"nodes_matching", seen.nodes_matching});
    out.figures.push_back({"nodes_pool", seen.nodes_pool});
    return out;
}

// "one node", or what the nodes must have that are left to ask: "a node with 8 GPUs free".
std::string place_text(const Capacity& capacity, const NodeSurvey& seen,
                       const NodeSurvey::OfNeed& of) {
    if (of.nodes_asked == seen.nodes_matching) return "one node";
    return "a node with " + needs_before(capacity, seen, of) + " free";
}

// So many ranks fit by the needs up to this one; and how many in the end, if fewer.
std::string room_part(const Capacity& capacity, const NodeSurvey& seen,
                      const NodeSurvey::OfNeed& of, std::int64_t ranks) {
    std::string text = ", room for " + std::to_string(of.ranks_fitting_so_far) + " of " +
                       count(ranks, "rank", "ranks");
    if (seen.ranks_fitting == of.ranks_fitting_so_far) return text;
    const auto last = std::find_if(seen.needs.begin(), seen.needs.end(), [&](const auto& later) {
        return later.ranks_fitting_so_far == seen.ranks_fitting;
    });
    return text + ", for " + std::to_string(seen.ranks_fitting) + " with " +
           need_text(capacity, last->need) + (ranks > 1 ? " each" : "");
}

void say_never_fits(const Capacity& capacity, const std::string& pool, const NodeSurvey& seen,
                    const Wants& wants, Explanation& out) {
    const auto too_much =
        std::find_if(seen.needs.begin(), seen.needs.end(),
                     [](const NodeSurvey::OfNeed& of) { return of.largest_node < of.need.amount; });
    const ColumnKind kind = capacity.kind(too_much->need.column);
    const bool is_first = too_much == seen.needs.begin();
    out.reason = Reason::never_fits;
    out.subject = pool;
    out.sentence =
        wants.text +
        (is_first && wants.gpus_each > 0 ? "" : wants.with(need_text(capacity, too_much->need)));
    out.sentence += seen.nodes_matching == seen.nodes_pool
                        ? "; no node of pool " + pool
                        : "; no node of pool " + pool + " that it may use";
    const std::string before = too_much->nodes_asked_empty < seen.nodes_matching
                                   ? "with " + needs_before(capacity, seen, *too_much) + " "
                                   : "";
    const std::string& resource = capacity.resource(too_much->need.column);
    if (too_much->largest_node == 0) {
        out.sentence += " " + before + "offers " +
                        (kind == ColumnKind::gpu_part || resource.empty() ? "any" : resource);
        return;
    }
    out.sentence += " is large enough even when empty, the largest " + before + "offers " +
                    amount_text(kind, resource, too_much->largest_node);
}

// What else no node has enough of: it would not start if only the first of them were there.
void say_also_short(const Capacity& capacity, const NodeSurvey& seen,
                    const NodeSurvey::OfNeed& first, Explanation& out) {
    for (const NodeSurvey::OfNeed& of : seen.needs) {
        const Column column = of.need.column;
        if (column == first.need.column || of.usable_most >= of.need.amount) continue;
        const ColumnKind kind = capacity.kind(column);
        if (kind != ColumnKind::cpu && kind != ColumnKind::memory) continue;
        const std::string name = kind == ColumnKind::cpu ? "cpu" : "memory";
        out.figures.push_back({name + "_also_needed", of.need.amount});
        out.figures.push_back({name + "_free_most", of.usable_most});
        out.sentence += "; it also needs " + need_text(capacity, of.need) +
                        " on one node, and none has more than " +
                        amount_text(kind, capacity.resource(column), of.usable_most) + " free";
    }
}

void say_gpus_short(const ClusterState& state, const JobRow& job, const NodeSurvey& seen,
                    const NodeSurvey::OfNeed& of, const Wants& wants, Explanation& out) {
    if (seen.gpus_free >= wants.gpus_each * wants.ranks) {
        out.reason = of.ranks_fitting_so_far == 0 || wants.ranks == 1 ? Reason::gpu_fragmented
                                                                      : Reason::nodes_insufficient;
    }
    const bool is_part = is_part_of_gpu(GpuMilli{wants.gpus_each});
    const bool has_rest = !is_part && has_rests(state.capacity(), job.pool, of.need.column);
    out.sentence = wants.text + "; " + pool_part(state, job.pool, seen) + gpus(seen.gpus_free) +
                   " of " + gpus_noun(out.subject, seen.gpus_total) +
                   (has_rest ? " wholly free, at most " : " free, at most ") +
                   (is_part ? part_of_gpu(seen.gpu_free_on_one_device) + " on one GPU"
                            : gpus(seen.gpus_free_on_one_node) + " on one node");
    if (wants.ranks > 1) out.sentence += room_part(state.capacity(), seen, of, wants.ranks);
}

void say_other_short(const ClusterState& state, const JobRow& job, const NodeSurvey& seen,
                     const NodeSurvey::OfNeed& of, const Wants& wants, Explanation& out) {
    const Capacity& capacity = state.capacity();
    const ColumnKind kind = capacity.kind(of.need.column);
    add_need_figures(kind, of, out);
    out.sentence = wants.text + wants.with(need_text(capacity, of.need)) + "; " +
                   pool_part(state, job.pool, seen) + "at most " +
                   amount_text(kind, out.subject, of.usable_on_one_node) + " free on " +
                   place_text(capacity, seen, of) + room_part(capacity, seen, of, wants.ranks);
}

// Of those the ones that some node does not have: "8 GPUs".
std::string lacks_before(const Capacity& capacity, const NodeSurvey& seen,
                         const NodeSurvey::OfNeed& of) {
    std::string text;
    for (std::size_t at = 0; at + 1 < seen.needs.size(); ++at) {
        const NodeSurvey::OfNeed& before = seen.needs[at];
        if (before.need.column == of.need.column) break;
        if (seen.needs[at + 1].nodes_asked == before.nodes_asked) continue;
        text += (text.empty() ? "" : " and ") + need_text(capacity, before.need);
    }
    return text.empty() ? "" : " with " + text + " free";
}

// "needs 8 GPUs on one node with host port 2222/TCP; pool default has 2 nodes with 8 GPUs free, and
// another pod has the port on each"
void say_port_taken(const ClusterState& state, const JobRow& job, const NodeSurvey& seen,
                    const NodeSurvey::OfNeed& of, const Wants& wants, Explanation& out) {
    const Capacity& capacity = state.capacity();
    // Every node that it may use has room but for the port.
    const bool is_all =
        of.nodes_asked == seen.nodes_matching && seen.nodes_matching < seen.nodes_pool;
    const std::string nodes = its_nodes(state, job.pool, seen);
    out.sentence = wants.text + wants.with(need_text(capacity, of.need)) + "; ";
    if (!is_all) {
        out.sentence += pool_part(state, job.pool, seen) + count(of.nodes_asked, "node", "nodes") +
                        lacks_before(capacity, seen, of) + ", and ";
    }
    if (of.nodes_with_room == 0) {
        const std::string there = of.nodes_asked == 1 ? "there" : "on each";
        const std::string on_all = std::string{of.nodes_asked == 1 ? "on " : "on each of "} + nodes;
        out.sentence += "another pod has the port " + (is_all ? on_all : there);
    } else {
        out.sentence += "the port is free on " + std::to_string(of.nodes_with_room) + " of " +
                        (is_all ? nodes : "them") + ", for one rank each" +
                        room_part(capacity, seen, of, wants.ranks);
    }
}

const PlacementRules& rules_of(const ClusterState& state, const Shape& shape) {
    return state.shapes().constraint(shape.constraint).rules;
}

std::string sliced_part(const NodeSurvey& seen) {
    if (seen.nodes_sliced == 0) return "";
    return "; what " + count(seen.nodes_sliced, "node calls", "nodes call") +
           " GPUs are MIG slices: to have one, name their model" +
           (seen.sliced_model.empty() ? "" : ", " + seen.sliced_model);
}

std::int64_t gpus_each(const Capacity& capacity, const Shape& shape) {
    const ColumnKind kind = capacity.kind(shape.index_column);
    if (kind != ColumnKind::gpu && kind != ColumnKind::gpu_part) return 0;
    for (const Need& need : shape.needs) {
        if (need.column == shape.index_column) return need.amount;
    }
    return 0;
}

}  // namespace

namespace explain_parts {

std::string amount_text(ColumnKind kind, const std::string& resource, std::int64_t amount) {
    switch (kind) {
        case ColumnKind::gpu:
            return gpus_noun(resource, amount);
        case ColumnKind::gpu_part:
            return part_of_gpu(amount) + " of a GPU";
        case ColumnKind::cpu:
            return format_cpu(CpuMilli{amount}) + " CPU";
        case ColumnKind::memory:
            return format_bytes(Bytes{amount}) + " memory";
        case ColumnKind::pod_slots:
            return count(amount, "pod slot", "pod slots");
        case ColumnKind::extended:
            return counts_bytes(resource) ? format_bytes(Bytes{amount}) + " " + resource
                                          : std::to_string(amount) + " " + resource;
        case ColumnKind::host_port:
            return "host port " + resource;
    }
    return std::to_string(amount);
}

bool has_rests(const Capacity& capacity, PoolId pool, Column whole) {
    if (!capacity.has_parts_beside(whole)) return false;
    const Column parts = capacity.whole_column(whole);  // each is beside the other
    const NodeSet& nodes = capacity.nodes_of(pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        const std::vector<OpenDevice>& open = capacity.open_devices(parts, slot);
        const bool has_rest = std::any_of(open.begin(), open.end(),
                                          [](const OpenDevice& one) { return one.free > 0; });
        if (has_rest) return true;
    }
    return false;
}

Reason reason_of(ColumnKind kind) {
    switch (kind) {
        case ColumnKind::gpu:
        case ColumnKind::gpu_part:
            return Reason::gpu_insufficient;
        case ColumnKind::cpu:
            return Reason::cpu_insufficient;
        case ColumnKind::memory:
            return Reason::memory_insufficient;
        case ColumnKind::pod_slots:
            return Reason::pod_slots_insufficient;
        case ColumnKind::extended:
            return Reason::extended_insufficient;
        case ColumnKind::host_port:
            return Reason::host_port_taken;
    }
    return Reason::extended_insufficient;
}

std::string asks_for(const Capacity& capacity, const Shape& shape, std::int64_t ranks) {
    const std::int64_t each = gpus_each(capacity, shape);
    return each > 0 ? asks(capacity.resource(shape.index_column), each, ranks)
                    : "needs room for " + count(ranks, "pod", "pods");
}

namespace {

std::optional<Explanation> refusal_of_pool(const ClusterState& state, const JobRow& job,
                                           const Group& group) {
    const Capacity& capacity = state.capacity();
    const Shape& shape = state.shapes().at(group.shape);
    const NodeSurvey seen =
        survey(state, job.pool, shape, group.ranks, group.barred, {}, group.open);
    const bool has_choice = rules_of(state, shape).takes_several_models();
    if (seen.ranks_fitting >= group.ranks && !has_choice) return std::nullopt;
    Wants wants{gpus_each(capacity, shape), group.ranks, ""};
    wants.text = asks_for(capacity, shape, group.ranks);
    Explanation out = with_survey(seen, wants.gpus_each, group.ranks);
    const std::string& pool = state.pool(job.pool).name;
    if (seen.nodes_pool == 0) {
        out.reason = Reason::pool_empty;
        out.subject = pool;
        out.sentence = wants.text + "; pool " + pool + " has no node";
        return out;
    }
    if (seen.nodes_matching == 0) {
        out.reason = Reason::no_matching_node;
        out.subject = pool;
        out.sentence = "no node of pool " + pool +
                       " takes it: " + refusals_of(state, job.pool, rules_of(state, shape)) +
                       sliced_part(seen);
        return out;
    }
    if (has_choice) {
        out.sentence = wants.text;
        return explain_models(state, job, group, std::move(out));
    }
    if (seen.ranks_fitting_empty == 0) {
        say_never_fits(capacity, pool, seen, wants, out);
        return out;
    }
    const auto short_of = std::find_if(
        seen.needs.begin(), seen.needs.end(),
        [&](const NodeSurvey::OfNeed& of) { return of.ranks_fitting_so_far < group.ranks; });
    const Column column = short_of->need.column;
    out.reason = reason_of(capacity.kind(column));
    out.subject = capacity.resource(column);
    if (wants.gpus_each > 0 && column == shape.index_column) {
        say_gpus_short(state, job, seen, *short_of, wants, out);
        say_also_short(capacity, seen, *short_of, out);
    } else if (is_host_port(column)) {
        say_port_taken(state, job, seen, *short_of, wants, out);
    } else {
        say_other_short(state, job, seen, *short_of, wants, out);
    }
    return out;
}

}  // namespace

std::optional<Explanation> explain_group(const ClusterState& state, const JobRow& job,
                                         const Group& group) {
    std::optional<Explanation> found = refusal_of_pool(state, job, group);
    if (!found) return found;
    const bool has_no_node = found->reason == Reason::never_fits ||
                             found->reason == Reason::pool_empty ||
                             found->reason == Reason::no_matching_node;
    if (has_no_node) found->sentence += nodes_in_other_pools(state, job, group);
    return found;
}

}  // namespace explain_parts

}  // namespace gpuctl
