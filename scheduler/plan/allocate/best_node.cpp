#include "scheduler/plan/allocate/best_node.hpp"

#include <algorithm>
#include <bit>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {
namespace {

// Costs stored by all trees together (8 bytes each); further shapes share the last trees in turn.
constexpr std::size_t kCostsMax = std::size_t{1} << 22;
constexpr std::size_t kTreesMin = 4;

}  // namespace

struct BestNode::NodeCost {
    const Capacity& capacity;
    const NodeSet& eligible;
    const Fragmentation& fragmentation;
    PoolId pool;
    const Shape& shape;

    [[nodiscard]] std::int64_t operator()(std::uint32_t slot) const {
        if (capacity.pool_of(slot) != pool || !eligible.contains(slot)) {
            return Fragmentation::kDoesNotFit;
        }
        return fragmentation.cost(capacity, pool, slot, shape);
    }
};

BestNode::Tree& BestNode::tree_of(PoolId pool, ShapeId id, std::uint64_t serial,
                                  std::size_t slots) {
    ++asked_;
    for (Tree& tree : trees_) {
        if (tree.shape != id || tree.pool != pool) continue;
        if (tree.shape_serial != serial) tree.of = nullptr;  // its id now belongs to another shape
        tree.shape_serial = serial;
        tree.used = asked_;
        return tree;
    }
    const std::size_t most = std::max(kTreesMin, kCostsMax / (2 * std::bit_ceil(slots + 1)));
    if (trees_.size() < most) {
        trees_.emplace_back();
    } else {
        std::swap(trees_.back(),
                  *std::min_element(trees_.begin(), trees_.end(),
                                    [](const Tree& a, const Tree& b) { return a.used < b.used; }));
    }
    Tree& tree = trees_.back();
    tree.shape = id;
    tree.shape_serial = serial;
    tree.pool = pool;
    tree.of = nullptr;  // the tree has to be rebuilt
    tree.used = asked_;
    return tree;
}

void BestNode::build(Tree& tree, const NodeCost& cost_of, std::size_t slots) {
    tree.leaves = std::bit_ceil(static_cast<std::uint32_t>(std::max<std::size_t>(slots, 1)));
    tree.costs.assign(2 * std::size_t{tree.leaves}, Fragmentation::kDoesNotFit);
    for (const std::uint32_t slot :
         cost_of.capacity.nodes_of(cost_of.pool).common(cost_of.eligible)) {
        tree.costs[tree.leaves + slot] = cost_of(slot);
    }
    for (std::size_t n = tree.leaves; n-- > 1;) {
        tree.costs[n] = std::min(tree.costs[2 * n], tree.costs[2 * n + 1]);
    }
}

void BestNode::set(Tree& tree, std::uint32_t slot, std::int64_t cost) {
    std::size_t n = tree.leaves + slot;
    tree.costs[n] = cost;
    for (n /= 2; n > 0; n /= 2) {
        const std::int64_t best = std::min(tree.costs[2 * n], tree.costs[2 * n + 1]);
        if (tree.costs[n] == best) return;
        tree.costs[n] = best;
    }
}

NodeId BestNode::of(const ClusterState& state, const Capacity& capacity, const NodeSet& eligible,
                    const Fragmentation& fragmentation, PoolId pool, ShapeId id) {
    const Shape& shape = state.shape_of(id);
    Tree& tree = tree_of(pool, id, shape.serial, capacity.slots());
    const NodeCost cost_of{capacity, eligible, fragmentation, pool, shape};
    const std::uint64_t version = fragmentation.version(pool, shape);
    const std::vector<std::uint32_t>& changes = capacity.changes();
    const std::vector<std::uint32_t>& rules = state.nodes.eligibility_log();
    const bool is_followed = tree.of == &capacity && tree.version == version &&
                             tree.change_epoch == capacity.change_epoch() &&
                             tree.eligibility_epoch == state.nodes.eligibility_epoch() &&
                             capacity.slots() <= tree.leaves;
    // If much has changed, a complete rebuild is cheaper than single updates.
    const std::size_t behind =
        is_followed ? changes.size() - tree.change_at + rules.size() - tree.eligibility_at : 0;
    if (!is_followed || behind > capacity.slots() / 2 + 16) {
        build(tree, cost_of, capacity.slots());
    } else {
        for (std::size_t i = tree.change_at; i < changes.size(); ++i) {
            if (has_fault(SeededFault::miss_a_changed_node) && i + 1 == changes.size()) break;
            if (i + 1 < changes.size() && changes[i + 1] == changes[i]) continue;
            set(tree, changes[i], cost_of(changes[i]));
        }
        for (std::size_t i = tree.eligibility_at; i < rules.size(); ++i) {
            set(tree, rules[i], cost_of(rules[i]));
        }
    }
    tree.of = &capacity;
    tree.version = version;
    tree.change_epoch = capacity.change_epoch();
    tree.change_at = changes.size();
    tree.eligibility_epoch = state.nodes.eligibility_epoch();
    tree.eligibility_at = rules.size();
    const std::int64_t best = tree.costs[1];
    if (best == Fragmentation::kDoesNotFit) return NodeId::none();
    std::size_t n = 1;
    while (n < tree.leaves) n = tree.costs[2 * n] == best ? 2 * n : 2 * n + 1;
    return NodeId{static_cast<std::uint32_t>(n - tree.leaves)};
}

}  // namespace gpuctl
