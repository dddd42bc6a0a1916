#include "scheduler/plan/preempt/cheapest_nodes.hpp"

#include <algorithm>
#include <tuple>

namespace gpuctl {
CheapestNodes::CheapestNodes(const ClusterState& state, const NodeSet& allowed, const Shape& shape,
                             const Units& units)
    : units_(units), by_node_(state, units) {
    for (const NodeId node : by_node_.nodes()) {
        if (allowed.contains(node.value())) read_node(state, shape, node);
    }
    std::sort(offers_.begin(), offers_.end(), [](const Offer& a, const Offer& b) {
        return std::tie(a.weight_per_rank, a.node, a.begin) <
               std::tie(b.weight_per_rank, b.node, b.begin);
    });
}

void CheapestNodes::read_node(const ClusterState& state, const Shape& shape, NodeId node) {
    const Capacity& capacity = state.nodes.capacity();
    const auto first = static_cast<std::uint32_t>(sorted_.size());
    const auto here = by_node_.on(node);
    sorted_.insert(sorted_.end(), here.begin(), here.end());
    std::sort(sorted_.begin() + first, sorted_.end(), [this](std::uint32_t a, std::uint32_t b) {
        return std::tie(units_[a]->weight, a) < std::tie(units_[b]->weight, b);
    });
    free_.clear();
    for (const Need& need : shape.needs) {
        free_.push_back(capacity.usable(need.column, node.value()));
    }
    const auto fitting = [&] {
        std::int64_t most = INT64_MAX;
        for (std::size_t i = 0; i < free_.size(); ++i) {
            const std::int64_t room = std::max<std::int64_t>(free_[i], 0);
            most = std::min(most, room / shape.needs[i].amount);
        }
        return most;
    };
    Offer offer{0, node, first, first, 0};
    std::int64_t known = fitting();
    std::int64_t weight = 0;
    for (std::uint32_t at = first; at < sorted_.size(); ++at) {
        const EvictionUnit& unit = *units_[sorted_[at]];
        weight += unit.weight;
        for (std::size_t i = 0; i < free_.size(); ++i) {
            free_[i] += freed(state, unit, node, shape.needs[i].column);
        }
        const std::int64_t now = fitting();
        if (now == known) continue;
        offer.end = at + 1;
        offer.ranks = now - known;
        offer.weight_per_rank = std::max(offer.weight_per_rank, weight / offer.ranks);
        ranks_ += offer.ranks;
        offers_.push_back(offer);
        offer.begin = offer.end;
        known = now;
        weight = 0;
    }
}

Units CheapestNodes::for_ranks(std::int64_t ranks) const {
    std::vector<bool> is_taken(units_.size(), false);
    for (const Offer& offer : offers_) {
        if (ranks <= 0) break;
        for (std::uint32_t at = offer.begin; at < offer.end; ++at) is_taken[sorted_[at]] = true;
        ranks -= offer.ranks;
    }
    Units out;
    for (std::size_t position = 0; position < units_.size(); ++position) {
        if (is_taken[position]) out.push_back(units_[position]);
    }
    return out;
}

}  // namespace gpuctl
