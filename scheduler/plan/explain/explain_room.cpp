// Explains why the ranks of a job find no room, counted over the nodes of its pool.

#include <algorithm>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/explain/explain_parts.hpp"

namespace gpuctl {

using explain_parts::amount_of;
using explain_parts::has_rests;
using explain_parts::reason_of;

namespace {

fact::UsableNodes nodes_of(const ClusterState& state, PoolId pool, const NodeSurvey& seen) {
    return {state.pool(pool).name, seen.nodes_matching, seen.nodes_pool};
}

fact::Amount need_of(const Capacity& capacity, const NodeSurvey::OfNeed& of) {
    return amount_of(capacity, of.need.column, of.need.amount);
}

// What a node must have before this need is checked, for instance 8 GPUs and 4 CPU.
std::vector<fact::Amount> needs_before(const Capacity& capacity, const NodeSurvey& seen,
                                       const NodeSurvey::OfNeed& of) {
    std::vector<fact::Amount> out;
    for (const NodeSurvey::OfNeed& before : seen.needs) {
        if (before.need.column == of.need.column) break;
        out.push_back(need_of(capacity, before));
    }
    return out;
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

// The number of ranks that fit by the needs up to this one, and by all needs.
fact::RanksFitting fitting_of(const Capacity& capacity, const NodeSurvey& seen,
                              const NodeSurvey::OfNeed& of, std::int64_t ranks) {
    fact::RanksFitting out{ranks, of.ranks_fitting_so_far, seen.ranks_fitting, {}};
    if (out.by_all == out.fitting) return out;
    const auto last = std::find_if(seen.needs.begin(), seen.needs.end(), [&](const auto& later) {
        return later.ranks_fitting_so_far == seen.ranks_fitting;
    });
    if (last != seen.needs.end()) out.last = need_of(capacity, *last);
    return out;
}

void add_never_fits(const ClusterState& state, PoolId pool, const NodeSurvey& seen,
                    const fact::Request& request, Explanation& out) {
    const Capacity& capacity = state.nodes.capacity();
    const auto too_much =
        std::find_if(seen.needs.begin(), seen.needs.end(),
                     [](const NodeSurvey::OfNeed& of) { return of.largest_node < of.need.amount; });
    out.reason = Reason::never_fits;
    out.subject = state.pool(pool).name;
    fact::NeverFits never;
    never.nodes = nodes_of(state, pool, seen);
    never.ranks = request.ranks;
    never.need = need_of(capacity, *too_much);
    never.is_in_request = too_much == seen.needs.begin() && request.gpus_each > 0;
    if (too_much->nodes_asked_empty < seen.nodes_matching) {
        never.before = needs_before(capacity, seen, *too_much);
    }
    never.largest = too_much->largest_node;
    out.facts.push_back(std::move(never));
}

// Adds further needs that no node can meet: meeting the first need alone would not let the job
// start.
void add_also_short(const Capacity& capacity, const NodeSurvey& seen,
                    const NodeSurvey::OfNeed& first, Explanation& out) {
    for (const NodeSurvey::OfNeed& of : seen.needs) {
        const Column column = of.need.column;
        if (column == first.need.column || of.usable_most >= of.need.amount) continue;
        const ColumnKind kind = capacity.kind(column);
        if (kind != ColumnKind::cpu && kind != ColumnKind::memory) continue;
        const std::string name = kind == ColumnKind::cpu ? "cpu" : "memory";
        out.figures.push_back({name + "_also_needed", of.need.amount});
        out.figures.push_back({name + "_free_most", of.usable_most});
        out.facts.push_back(fact::AlsoShort{need_of(capacity, of), of.usable_most});
    }
}

void add_gpus_short(const ClusterState& state, const JobRow& job, const NodeSurvey& seen,
                    const NodeSurvey::OfNeed& of, const fact::Request& request, Explanation& out) {
    if (seen.gpus_free >= request.gpus_each * request.ranks) {
        out.reason = of.ranks_fitting_so_far == 0 || request.ranks == 1
                         ? Reason::gpu_fragmented
                         : Reason::nodes_insufficient;
    }
    fact::GpusShort gpus;
    gpus.nodes = nodes_of(state, job.pool, seen);
    gpus.resource = out.subject;
    gpus.free = seen.gpus_free;
    gpus.total = seen.gpus_total;
    gpus.is_fraction = is_part_of_gpu(GpuMilli{request.gpus_each});
    gpus.most = gpus.is_fraction ? seen.gpu_free_on_one_device : seen.gpus_free_on_one_node;
    gpus.has_fractions =
        !gpus.is_fraction && has_rests(state.nodes.capacity(), job.pool, of.need.column);
    gpus.ranks = fitting_of(state.nodes.capacity(), seen, of, request.ranks);
    out.facts.push_back(std::move(gpus));
}

void add_resource_short(const ClusterState& state, const JobRow& job, const NodeSurvey& seen,
                        const NodeSurvey::OfNeed& of, std::int64_t ranks, Explanation& out) {
    const Capacity& capacity = state.nodes.capacity();
    add_need_figures(capacity.kind(of.need.column), of, out);
    fact::ResourceShort short_of;
    short_of.nodes = nodes_of(state, job.pool, seen);
    short_of.need = need_of(capacity, of);
    short_of.most = of.usable_on_one_node;
    if (of.nodes_asked != seen.nodes_matching) {
        short_of.before = needs_before(capacity, seen, of);
    }
    short_of.ranks = fitting_of(capacity, seen, of, ranks);
    out.facts.push_back(std::move(short_of));
}

// The needs before this one that some node does not meet, for instance 8 GPUs.
std::vector<fact::Amount> lacks_before(const Capacity& capacity, const NodeSurvey& seen,
                                       const NodeSurvey::OfNeed& of) {
    std::vector<fact::Amount> out;
    for (std::size_t at = 0; at + 1 < seen.needs.size(); ++at) {
        const NodeSurvey::OfNeed& before = seen.needs[at];
        if (before.need.column == of.need.column) break;
        if (seen.needs[at + 1].nodes_asked == before.nodes_asked) continue;
        out.push_back(need_of(capacity, before));
    }
    return out;
}

void add_port_taken(const ClusterState& state, const JobRow& job, const NodeSurvey& seen,
                    const NodeSurvey::OfNeed& of, std::int64_t ranks, Explanation& out) {
    const Capacity& capacity = state.nodes.capacity();
    out.facts.push_back(fact::HostPortTaken{.nodes = nodes_of(state, job.pool, seen),
                                            .port = need_of(capacity, of),
                                            .nodes_asked = of.nodes_asked,
                                            .nodes_with_port = of.nodes_with_room,
                                            .before = lacks_before(capacity, seen, of),
                                            .ranks = fitting_of(capacity, seen, of, ranks)});
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

// Large amounts are clamped, so a clamped amount is not the requested amount.
fact::Amount amount_of(const Capacity& capacity, Column column, std::int64_t amount) {
    return {capacity.kind(column), capacity.resource(column), amount, amount >= kAmountMax};
}

bool has_rests(const Capacity& capacity, PoolId pool, Column whole) {
    if (!capacity.has_counterpart_column(whole)) return false;
    // the whole and the fraction column refer to each other
    const Column parts = capacity.whole_column(whole);
    for (const std::uint32_t slot : capacity.nodes_of(pool)) {
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

fact::Request request_of(const Capacity& capacity, const Shape& shape, std::int64_t ranks) {
    return {capacity.resource(shape.index_column), gpus_each(capacity, shape), ranks};
}

namespace {

std::optional<Explanation> refusal_of_pool(const ClusterState& state, const JobRow& job,
                                           const Group& group) {
    const Capacity& capacity = state.nodes.capacity();
    const Shape& shape = state.shape_of(group.shape);
    const NodeSurvey seen =
        survey(state, job.pool, shape, group.ranks, group.barred, {}, group.open);
    const bool has_choice = state.rules_of(shape).takes_several_models();
    if (seen.ranks_fitting >= group.ranks && !has_choice) return std::nullopt;
    const fact::Request request = request_of(capacity, shape, group.ranks);
    Explanation out = with_survey(seen, request.gpus_each, group.ranks);
    const std::string& pool = state.pool(job.pool).name;
    if (seen.nodes_pool == 0) {
        out.reason = Reason::pool_empty;
        out.subject = pool;
        out.facts = {request, fact::PoolEmpty{pool}};
        return out;
    }
    if (seen.nodes_matching == 0) {
        out.reason = Reason::no_matching_node;
        out.subject = pool;
        out.facts = {fact::NoNodeMatches{pool, refusals_of(state, job.pool, state.rules_of(shape)),
                                         seen.nodes_sliced, seen.sliced_model}};
        return out;
    }
    out.facts = {request};
    if (has_choice) return explain_models(state, job, group, std::move(out));
    if (seen.ranks_fitting_empty == 0) {
        add_never_fits(state, job.pool, seen, request, out);
        return out;
    }
    const auto short_of = std::find_if(
        seen.needs.begin(), seen.needs.end(),
        [&](const NodeSurvey::OfNeed& of) { return of.ranks_fitting_so_far < group.ranks; });
    const Column column = short_of->need.column;
    out.reason = reason_of(capacity.kind(column));
    out.subject = capacity.resource(column);
    if (request.gpus_each > 0 && column == shape.index_column) {
        add_gpus_short(state, job, seen, *short_of, request, out);
        add_also_short(capacity, seen, *short_of, out);
    } else if (is_host_port(column)) {
        add_port_taken(state, job, seen, *short_of, group.ranks, out);
    } else {
        add_resource_short(state, job, seen, *short_of, group.ranks, out);
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
    if (!has_no_node) return found;
    if (auto other = nodes_in_other_pools(state, job, group)) {
        found->facts.push_back(std::move(*other));
    }
    return found;
}

}  // namespace explain_parts

}  // namespace gpuctl
