#include "scheduler/plan/placer.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "scheduler/base/planted.hpp"

namespace gpuctl {
namespace {

std::int64_t amount_of(const Shape& shape, Column column) {
    for (const Need& need : shape.needs) {
        if (need.column == column) return need.amount;
    }
    return 0;
}

// Work without GPUs may look at so many full nodes before the CPU index is asked instead.
constexpr int kMissesMax = 64;

}  // namespace

NodeId Placer::tightest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        const Shape& shape, std::int64_t ranks) {
    const NodeSet& eligible = eligibility_.of(state, shape.constraint);
    const ColumnKind kind = capacity.kind(shape.index_column);
    if (kind != ColumnKind::gpu) {
        const NodeId beside = beside_gpus(capacity, pool, shape, eligible, ranks);
        if (beside.exists()) return beside;
    }
    const auto* buckets = capacity.buckets(pool, shape.index_column);
    if (buckets == nullptr) return NodeId::none();
    const std::int64_t each = amount_of(shape, shape.index_column);
    if (each > std::numeric_limits<std::int64_t>::max() / ranks) return NodeId::none();
    const std::int64_t amount = each * ranks;
    const int too_high = planted(PlantedBug::begin_a_bucket_too_high) ? 1 : 0;
    for (int bucket = Capacity::bucket_of(kind, amount) + too_high; bucket < Capacity::kBuckets;
         ++bucket) {
        const NodeSet& nodes = (*buckets)[static_cast<std::size_t>(bucket)];
        for (std::uint32_t slot = nodes.next_common(eligible, 0); slot != NodeSet::kEnd;
             slot = nodes.next_common(eligible, slot + 1)) {
            if (is_avoided(state, slot)) continue;
            if (capacity.fitting(slot, shape.needs, ranks) == ranks) return NodeId{slot};
        }
    }
    return NodeId::none();
}

bool Placer::is_avoided(const ClusterState& state, std::uint32_t slot) const {
    return std::any_of(avoided_.begin(), avoided_.end(), [&](std::string_view model) {
        return same_gpu_model(state.node(NodeId{slot}).facts.gpu_model, model);
    });
}

// Work without GPUs goes where the fewest GPUs are free, so that it does not sit in front of them.
NodeId Placer::beside_gpus(const Capacity& capacity, PoolId pool, const Shape& shape,
                           const NodeSet& eligible, std::int64_t ranks) const {
    // With several vendors, the first by name: one order is as good as another.
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
        for (std::uint32_t slot = nodes.next_common(eligible, 0); slot != NodeSet::kEnd;
             slot = nodes.next_common(eligible, slot + 1)) {
            if (capacity.fitting(slot, shape.needs, ranks) == ranks) return NodeId{slot};
            if (++misses == kMissesMax) return NodeId::none();
        }
    }
    return NodeId::none();
}

// The node that takes most of `ranks`, by the index column first: not always the very largest, but
// always one that takes at least one rank if any does.
NodeId Placer::roomiest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        const Shape& shape, std::int64_t ranks, std::int64_t& fitting) {
    fitting = 0;
    const auto* buckets = capacity.buckets(pool, shape.index_column);
    if (buckets == nullptr) return NodeId::none();
    const NodeSet& eligible = eligibility_.of(state, shape.constraint);
    NodeId best;
    for (int bucket = Capacity::kBuckets; bucket-- > 0;) {
        const NodeSet& nodes = (*buckets)[static_cast<std::size_t>(bucket)];
        for (std::uint32_t slot = nodes.next_common(eligible, 0); slot != NodeSet::kEnd;
             slot = nodes.next_common(eligible, slot + 1)) {
            const std::int64_t here = capacity.fitting(slot, shape.needs, ranks);
            if (here <= fitting || is_avoided(state, slot)) continue;
            fitting = here;
            best = NodeId{slot};
            // Below the open-ended top bucket all nodes of a bucket are alike in this column.
            if (bucket < Capacity::kBuckets - 1) break;
        }
        if (best.exists()) return best;
    }
    return best;
}

void Placer::sort_by_size(const ClusterState& state, const std::vector<PodId>& pods) {
    order_.assign(pods.begin(), pods.end());
    const ShapeId first = state.pod(order_.front()).shape;
    const bool mixed = std::any_of(order_.begin(), order_.end(),
                                   [&](PodId pod) { return state.pod(pod).shape != first; });
    if (!mixed) return;
    // Ties by what the shapes ask, never by their ids: those depend on history.
    std::stable_sort(order_.begin(), order_.end(), [&state](PodId a, PodId b) {
        const PodFacts& x = state.pod(a).facts;
        const PodFacts& y = state.pod(b).facts;
        const Shape& left = state.shapes().at(state.pod(a).shape);
        const Shape& right = state.shapes().at(state.pod(b).shape);
        return std::tie(right.gpus, right.cpu, right.memory, x.request, x.rules) <
               std::tie(left.gpus, left.cpu, left.memory, y.request, y.rules);
    });
}

bool Placer::place_greedily(const ClusterState& state, Capacity& capacity, PoolId pool,
                            Transaction& attempt) {
    chosen_.clear();
    while (chosen_.size() < order_.size()) {
        const std::size_t begin = chosen_.size();
        const ShapeId shape_id = state.pod(order_[begin]).shape;
        std::size_t end = begin;
        while (end < order_.size() && state.pod(order_[end]).shape == shape_id) ++end;
        const Shape& shape = state.shapes().at(shape_id);
        auto left = static_cast<std::int64_t>(end - begin);
        while (left > 0) {
            std::int64_t here = left;
            NodeId node = tightest(state, capacity, pool, shape, left);
            if (!node.exists()) node = roomiest(state, capacity, pool, shape, left, here);
            if (!node.exists()) return false;
            attempt.take(node.value(), shape.needs, here);
            chosen_.insert(chosen_.end(), static_cast<std::size_t>(here), node);
            left -= here;
        }
    }
    return true;
}

// Depth first over all nodes of the pool; a node that looks the same as one tried before for this
// pod is tried all the same, the step bound covers it.
bool Placer::search(const ClusterState& state, Capacity& capacity, PoolId pool,
                    Transaction& attempt, std::size_t next, std::int64_t& steps_left) {
    if (next == order_.size()) return true;
    const ShapeId shape_id = state.pod(order_[next]).shape;
    const Shape& shape = state.shapes().at(shape_id);
    const bool same_as_before = next > 0 && state.pod(order_[next - 1]).shape == shape_id;
    // Pods of one shape are interchangeable: let their nodes only go upwards.
    std::uint32_t slot = same_as_before ? chosen_[next - 1].value() : 0;
    const NodeSet& nodes = capacity.nodes_of(pool);
    for (slot = nodes.next(slot); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        if (!eligibility_.of(state, shape.constraint).contains(slot)) continue;
        if (is_avoided(state, slot)) continue;
        if (!capacity.fits(slot, shape.needs)) continue;
        if (--steps_left < 0) return false;
        const std::size_t before = attempt.checkpoint();
        attempt.take(slot, shape.needs);
        chosen_.push_back(NodeId{slot});
        if (search(state, capacity, pool, attempt, next + 1, steps_left)) return true;
        chosen_.pop_back();
        attempt.rollback_to(before);
        if (steps_left < 0) return false;
    }
    return false;
}

bool Placer::place_all(const ClusterState& state, Capacity& capacity, PoolId pool,
                       const std::vector<PodId>& pods, std::vector<Placement>& out) {
    out.clear();
    sort_by_size(state, pods);
    Transaction attempt{capacity, log_};
    if (!place_greedily(state, capacity, pool, attempt)) {
        if (planted(PlantedBug::drop_the_undo)) log_.clear();
        attempt.rollback_to(0);
        const ShapeId first = state.pod(order_.front()).shape;
        if (std::all_of(order_.begin(), order_.end(),
                        [&](PodId pod) { return state.pod(pod).shape == first; })) {
            return false;  // for one shape the greedy answer is exact
        }
        chosen_.clear();
        std::int64_t steps_left = kSearchStepsMax;
        if (!search(state, capacity, pool, attempt, 0, steps_left)) return false;
    }
    out.reserve(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) out.push_back({order_[i], chosen_[i]});
    if (order_ != pods) {  // back into rank order: rank 0 is bound first
        std::sort(out.begin(), out.end(), [&pods](const Placement& a, const Placement& b) {
            return std::find(pods.begin(), pods.end(), a.pod) <
                   std::find(pods.begin(), pods.end(), b.pod);
        });
    }
    return true;  // the attempt is undone here; ClusterState::assume() does it for good
}

}  // namespace gpuctl
