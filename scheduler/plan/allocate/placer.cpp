#include "scheduler/plan/allocate/placer.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {
namespace {

std::int64_t amount_of(const Shape& shape, Column column) {
    for (const Need& need : shape.needs) {
        if (need.column == column) return need.amount;
    }
    return 0;
}

// Uses the index column only, so that a full pool is recognised at once.
bool some_node_has(const Capacity& capacity, PoolId pool, const Shape& shape,
                   const NodeSet& eligible) {
    const auto* buckets = capacity.buckets(pool, shape.index_column);
    if (buckets == nullptr) return false;
    const ColumnKind kind = capacity.kind(shape.index_column);
    const std::int64_t amount = amount_of(shape, shape.index_column);
    for (int bucket = Capacity::bucket_of(kind, amount); bucket < Capacity::kBuckets; ++bucket) {
        const NodeSet& nodes = (*buckets)[static_cast<std::size_t>(bucket)];
        if (nodes.next_common(eligible, 0) != NodeSet::kEnd) return true;
    }
    return false;
}

// Devices of the node with room for the shape's fraction of a GPU, one device for each amount of
// free room.
std::vector<std::int32_t> devices_to_try(const Capacity& capacity, std::uint32_t slot,
                                         const Shape& shape) {
    const Need* need = capacity.part_of(shape.needs);
    if (need == nullptr) return {kNoDevice};
    std::vector<std::int32_t> found;
    std::vector<std::int64_t> rests;
    for (const OpenDevice& device : capacity.open_devices(need->column, slot)) {
        const bool is_known = std::find(rests.begin(), rests.end(), device.free) != rests.end();
        if (device.free < need->amount || is_known) continue;
        found.push_back(device.number);
        rests.push_back(device.free);
    }
    if (capacity.free(capacity.whole_column(need->column), slot) >= kGpuMilliPerGpu) {
        found.push_back(capacity.fresh_device(need->column, slot));
    }
    return found;
}

// The number of full nodes that are examined for work without GPUs before the CPU index is used.
constexpr int kMissesMax = 64;

}  // namespace

NodeId Placer::tightest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        const Shape& shape, std::int64_t ranks) {
    const NodeSet& eligible = allowed(state, shape);
    const ColumnKind kind = capacity.kind(shape.index_column);
    if (kind == ColumnKind::cpu) {
        const NodeId node_without_gpus = least_free_gpus(capacity, pool, shape, eligible, ranks);
        if (node_without_gpus.exists()) return node_without_gpus;
    }
    const auto* buckets = capacity.buckets(pool, shape.index_column);
    if (buckets == nullptr) return NodeId::none();
    const std::int64_t each = amount_of(shape, shape.index_column);
    if (each > std::numeric_limits<std::int64_t>::max() / ranks) return NodeId::none();
    // Free fractions of several devices do not add up: a node with room for one rank may have room
    // for all.
    const std::int64_t amount = kind == ColumnKind::gpu_part ? each : each * ranks;
    const int too_high = has_fault(SeededFault::begin_a_bucket_too_high) ? 1 : 0;
    for (int bucket = Capacity::bucket_of(kind, amount) + too_high; bucket < Capacity::kBuckets;
         ++bucket) {
        const NodeSet& nodes = (*buckets)[static_cast<std::size_t>(bucket)];
        for (const std::uint32_t slot : nodes.common(eligible)) {
            if (is_avoided(state, slot)) continue;
            if (capacity.fitting(slot, shape.needs, ranks) == ranks) return NodeId{slot};
        }
    }
    return NodeId::none();
}

bool Placer::is_avoided(const ClusterState& state, std::uint32_t slot) const {
    if (avoided_.empty() && only_model_.empty()) return false;
    const std::string& here = state.node(NodeId{slot}).facts.gpu_model;
    if (!only_model_.empty() && !same_gpu_model(here, only_model_)) return true;
    return std::any_of(avoided_.begin(), avoided_.end(),
                       [&](std::string_view model) { return same_gpu_model(here, model); });
}

// Work without GPUs goes to the node with the fewest free GPUs, so that it does not block them.
NodeId Placer::least_free_gpus(const Capacity& capacity, PoolId pool, const Shape& shape,
                               const NodeSet& eligible, std::int64_t ranks) const {
    // If the pool has GPUs of several vendors, the first vendor by name: any fixed order will do.
    std::optional<Column> gpus;
    for (std::size_t i = 0; i < capacity.columns(); ++i) {
        const auto column = static_cast<Column>(i);
        if (capacity.kind(column) != ColumnKind::gpu) continue;
        if (!gpus || capacity.resource(column) < capacity.resource(*gpus)) gpus = column;
    }
    const auto* buckets = gpus ? capacity.buckets(pool, *gpus) : nullptr;
    if (buckets == nullptr) return NodeId::none();
    int misses = 0;
    for (const NodeSet& nodes : *buckets) {
        for (const std::uint32_t slot : nodes.common(eligible)) {
            if (capacity.fitting(slot, shape.needs, ranks) == ranks) return NodeId{slot};
            if (++misses == kMissesMax) return NodeId::none();
        }
    }
    return NodeId::none();
}

// The node with room for the most of `ranks` pods, by the index column. It is not always the best
// node, but it has room for at least one rank if any node does.
NodeId Placer::roomiest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        const Shape& shape, std::int64_t ranks, std::int64_t& fitting) {
    fitting = 0;
    const auto* buckets = capacity.buckets(pool, shape.index_column);
    if (buckets == nullptr) return NodeId::none();
    const NodeSet& eligible = allowed(state, shape);
    NodeId best;
    for (int bucket = Capacity::kBuckets; bucket-- > 0;) {
        const NodeSet& nodes = (*buckets)[static_cast<std::size_t>(bucket)];
        for (const std::uint32_t slot : nodes.common(eligible)) {
            const std::int64_t here = capacity.fitting(slot, shape.needs, ranks);
            if (here <= fitting || is_avoided(state, slot)) continue;
            fitting = here;
            best = NodeId{slot};
            // Below the open-ended top bucket all nodes of a bucket are equal in this column. The
            // largest rest of a device does not determine how many fractions fit.
            const bool is_part = capacity.kind(shape.index_column) == ColumnKind::gpu_part;
            if (bucket < Capacity::kBuckets - 1 && !is_part) break;
        }
        if (best.exists()) return best;
    }
    return best;
}

Placer::Spot Placer::best(const ClusterState& state, const Capacity& capacity, PoolId pool,
                          ShapeId id) {
    const Shape& shape = state.shape_of(id);
    const NodeSet& eligible = allowed(state, shape);
    const ColumnKind kind = capacity.kind(shape.index_column);
    if (kind == ColumnKind::cpu && !capacity.has_gpus()) {
        return {tightest(state, capacity, pool, shape, 1)};  // no GPU can be fragmented
    }
    if (!some_node_has(capacity, pool, shape, eligible)) return {};
    fragmentation_.update_caches(state, capacity, pool);
    const NodeId node = cheapest(state, capacity, pool, id);
    if (!node.exists()) return {};
    return {node, fragmentation_.device_for(capacity, node.value(), shape)};
}

NodeId Placer::cheapest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        ShapeId id) {
    const Shape& shape = state.shape_of(id);
    const NodeSet& eligible = allowed(state, shape);
    const bool is_narrowed = is_scoped_ || barred_ || !avoided_.empty() || !only_model_.empty();
    if (!is_narrowed) return best_node_.of(state, capacity, eligible, fragmentation_, pool, id);
    NodeId node;
    std::int64_t least = Fragmentation::kDoesNotFit;
    for (const std::uint32_t slot : capacity.nodes_of(pool).common(eligible)) {
        if (is_avoided(state, slot)) continue;
        const std::int64_t cost = fragmentation_.cost(capacity, pool, slot, shape);
        if (cost >= least) continue;
        least = cost;
        node = NodeId{slot};
    }
    return node;
}

void Placer::sort_by_size(const ClusterState& state, const std::vector<PodId>& pods) {
    order_.assign(pods.begin(), pods.end());
    const ShapeId first = state.pod(order_.front()).shape;
    const bool mixed = std::any_of(order_.begin(), order_.end(),
                                   [&](PodId pod) { return state.pod(pod).shape != first; });
    if (!mixed) return;
    // Ties are broken by the requests of the shapes, never by their ids, which depend on history.
    std::stable_sort(order_.begin(), order_.end(), [&state](PodId a, PodId b) {
        const PodFacts& x = state.pod(a).facts;
        const PodFacts& y = state.pod(b).facts;
        const Shape& left = state.shape_of(a);
        const Shape& right = state.shape_of(b);
        return std::tie(right.gpus, right.cpu, right.memory, x.request, x.rules) <
               std::tie(left.gpus, left.cpu, left.memory, y.request, y.rules);
    });
}

// Fractions are assigned to devices one by one, each to the fullest device with room. This is exact
// for equal pods.
void Placer::take_ranks(const Capacity& capacity, Transaction& attempt, NodeId node,
                        const Shape& shape, std::int64_t ranks) {
    if (shape.part == GpuMilli{}) {
        attempt.occupy(node.value(), shape.needs, ranks);
        chosen_.insert(chosen_.end(), static_cast<std::size_t>(ranks), Spot{node});
        return;
    }
    for (std::int64_t i = 0; i < ranks; ++i) {
        const std::int32_t device = capacity.tightest_device(node.value(), shape.needs);
        attempt.occupy(node.value(), shape.needs, 1, device);
        chosen_.push_back({node, device});
    }
}

// Adds pods to the node while the cost there is no higher than that of the first pod. Returns the
// number of added pods.
std::int64_t Placer::take_while_cheap(const Capacity& capacity, Transaction& attempt, PoolId pool,
                                      NodeId node, const Shape& shape, std::int64_t ranks) {
    const std::int64_t cost = fragmentation_.cost(capacity, pool, node.value(), shape);
    std::int64_t taken = 0;
    do {
        take_ranks(capacity, attempt, node, shape, 1);
    } while (++taken < ranks && fragmentation_.cost(capacity, pool, node.value(), shape) == cost);
    return taken;
}

// Ranks without GPUs are packed like other ranks, but without stranding GPUs.
bool Placer::place_ranks(const ClusterState& state, const Capacity& capacity, PoolId pool,
                         Transaction& attempt, ShapeId id, std::int64_t ranks) {
    const Shape& shape = state.shape_of(id);
    const bool may_strand =
        capacity.kind(shape.index_column) == ColumnKind::cpu && capacity.has_gpus();
    if (may_strand) fragmentation_.update_caches(state, capacity, pool);
    while (ranks > 0) {
        std::int64_t here = ranks;
        NodeId node = tightest(state, capacity, pool, shape, ranks);
        if (!node.exists()) node = roomiest(state, capacity, pool, shape, ranks, here);
        if (!node.exists()) return false;
        if (may_strand && fragmentation_.strands_gpus(capacity, pool, node.value(), shape, here)) {
            const NodeId best = cheapest(state, capacity, pool, id);
            ranks -= take_while_cheap(capacity, attempt, pool, best, shape, ranks);
            continue;
        }
        take_ranks(capacity, attempt, node, shape, here);
        ranks -= here;
    }
    return true;
}

bool Placer::place_greedily(const ClusterState& state, const Capacity& capacity, PoolId pool,
                            Transaction& attempt) {
    chosen_.clear();
    while (chosen_.size() < order_.size()) {
        const std::size_t begin = chosen_.size();
        const ShapeId shape = state.pod(order_[begin]).shape;
        std::size_t end = begin;
        while (end < order_.size() && state.pod(order_[end]).shape == shape) ++end;
        if (!place_ranks(state, capacity, pool, attempt, shape,
                         static_cast<std::int64_t>(end - begin))) {
            return false;
        }
    }
    return true;
}

// Depth-first search over all nodes of the pool. Equivalent nodes are not skipped; the step bound
// covers that.
bool Placer::search(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    Transaction& attempt, std::size_t next, std::int64_t& steps_left) {
    if (next == order_.size()) return true;
    const ShapeId shape_id = state.pod(order_[next]).shape;
    const Shape& shape = state.shape_of(shape_id);
    const bool same_as_before = next > 0 && state.pod(order_[next - 1]).shape == shape_id;
    // Pods of one shape are interchangeable, so only placements with their nodes in ascending order
    // are tried.
    std::uint32_t slot = same_as_before ? chosen_[next - 1].node.value() : 0;
    const NodeSet& nodes = capacity.nodes_of(pool);
    for (slot = nodes.next(slot); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        if (!allowed(state, shape).contains(slot)) continue;
        if (is_avoided(state, slot) || is_taken(capacity, slot)) continue;
        if (!capacity.fits(slot, shape.needs)) continue;
        for (const std::int32_t device : devices_to_try(capacity, slot, shape)) {
            if (--steps_left < 0) return false;
            const std::size_t before = attempt.checkpoint();
            attempt.occupy(slot, shape.needs, 1, device);
            chosen_.push_back({NodeId{slot}, device});
            if (search(state, capacity, pool, attempt, next + 1, steps_left)) return true;
            chosen_.pop_back();
            attempt.rollback_to(before);
            if (steps_left < 0) return false;
        }
    }
    return false;
}

bool Placer::place_order(const ClusterState& state, const Capacity& capacity, PoolId pool,
                         Transaction& attempt, std::int64_t& steps_left) {
    // Ranks with a spread rule are not packed first.
    if (wish_.spread == TopologyLevel::none) {
        if (place_greedily(state, capacity, pool, attempt)) return true;
        if (has_fault(SeededFault::drop_the_undo)) log_.clear();
        attempt.rollback_to(0);
        const ShapeId first = state.pod(order_.front()).shape;
        if (std::all_of(order_.begin(), order_.end(),
                        [&](PodId pod) { return state.pod(pod).shape == first; })) {
            return false;  // the greedy result is exact for one shape
        }
    }
    chosen_.clear();
    return search(state, capacity, pool, attempt, 0, steps_left);
}

bool Placer::place_now(const ClusterState& state, TrialCapacity trial, PoolId pool,
                       const std::vector<PodId>& pods, std::vector<Placement>& out) {
    out.clear();
    const ShapeId shape = state.pod(pods.front()).shape;
    wish_ =
        has_fault(SeededFault::any_rack_will_do) ? TopologyRules{} : state.shape_of(shape).topology;
    if (wish_.any()) return place_in_domains(state, trial, pool, pods, out);
    if (pods.size() == 1) {
        const Spot spot = best(state, trial.read(), pool, shape);
        if (spot.node.exists()) out.push_back({pods.front(), spot.node, spot.device});
        return spot.node.exists();
    }
    sort_by_size(state, pods);
    Transaction attempt{trial, log_};
    std::int64_t steps_left = kSearchStepsMax;
    if (!place_order(state, trial.read(), pool, attempt, steps_left)) return false;
    write_placements(pods, out);
    return true;  // the attempt is rolled back here; Bindings::assume() places the pods
}

void Placer::write_placements(const std::vector<PodId>& pods, std::vector<Placement>& out) const {
    out.reserve(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
        out.push_back({order_[i], chosen_[i].node, chosen_[i].device});
    }
    if (order_ == pods) return;  // otherwise back to rank order: rank 0 is bound first
    std::sort(out.begin(), out.end(), [&pods](const Placement& a, const Placement& b) {
        return std::find(pods.begin(), pods.end(), a.pod) <
               std::find(pods.begin(), pods.end(), b.pod);
    });
}

}  // namespace gpuctl
