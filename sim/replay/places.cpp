#include "sim/replay/places.hpp"

#include <algorithm>

namespace gpuctl::replay {

Places::Places(std::int32_t nodes, std::int32_t gpus_per_node, Placing placing)
    : gpus_per_node_(gpus_per_node),
      placing_(placing),
      free_(static_cast<std::size_t>(nodes), gpus_per_node) {
    free_total_ = total();
}

std::int64_t Places::total() const {
    return std::int64_t{gpus_per_node_} * static_cast<std::int64_t>(free_.size());
}

void Places::clear() {
    std::fill(free_.begin(), free_.end(), gpus_per_node_);
    free_total_ = total();
}

std::optional<Spread> Places::allocate(std::int32_t gpus) {
    if (gpus > free_total_) return std::nullopt;
    std::optional<Spread> spread =
        placing_ == Placing::pooled ? Spread{-1, gpus, {}} : take_packed(gpus);
    if (spread) free_total_ -= gpus;
    return spread;
}

std::optional<Spread> Places::take_packed(std::int32_t gpus) {
    Spread spread;
    const std::int32_t whole = gpus <= gpus_per_node_ ? 0 : gpus / gpus_per_node_;
    for (std::size_t node = 0; node < free_.size(); ++node) {
        if (static_cast<std::int32_t>(spread.whole_nodes.size()) == whole) break;
        if (free_[node] == gpus_per_node_) {
            spread.whole_nodes.push_back(static_cast<std::int32_t>(node));
        }
    }
    if (static_cast<std::int32_t>(spread.whole_nodes.size()) < whole) return std::nullopt;
    spread.gpus = gpus - whole * gpus_per_node_;
    if (spread.gpus > 0) {
        const auto node = first_fit(spread.gpus, spread.whole_nodes);
        if (!node) return std::nullopt;
        spread.node = *node;
        free_[static_cast<std::size_t>(*node)] -= spread.gpus;
    }
    for (const std::int32_t node : spread.whole_nodes) free_[static_cast<std::size_t>(node)] = 0;
    return spread;
}

std::optional<std::int32_t> Places::first_fit(std::int32_t gpus,
                                              const std::vector<std::int32_t>& but) const {
    for (std::size_t i = 0; i < free_.size(); ++i) {
        const auto node = static_cast<std::int32_t>(i);
        if (free_[i] < gpus || std::find(but.begin(), but.end(), node) != but.end()) continue;
        return node;
    }
    return std::nullopt;
}

bool Places::take_ceded(const Spread& spread) {
    const auto whole = static_cast<std::int64_t>(spread.whole_nodes.size());
    const std::int64_t gpus = spread.gpus + whole * gpus_per_node_;
    if (gpus <= 0 || gpus > free_total_) return false;
    const auto is_free = [this](std::int32_t node, std::int32_t wanted) {
        return node >= 0 && node < static_cast<std::int32_t>(free_.size()) &&
               free_[static_cast<std::size_t>(node)] >= wanted;
    };
    if (placing_ == Placing::packed) {
        std::vector<std::int32_t> nodes = spread.whole_nodes;
        std::sort(nodes.begin(), nodes.end());
        if (std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end()) return false;
        if (std::binary_search(nodes.begin(), nodes.end(), spread.node)) return false;
        for (const std::int32_t node : nodes) {
            if (!is_free(node, gpus_per_node_)) return false;
        }
        if (spread.gpus > 0 && !is_free(spread.node, spread.gpus)) return false;
        for (const std::int32_t node : nodes) free_[static_cast<std::size_t>(node)] = 0;
        if (spread.gpus > 0) free_[static_cast<std::size_t>(spread.node)] -= spread.gpus;
    } else if (whole > 0) {
        return false;
    }
    free_total_ -= gpus;
    return true;
}

void Places::give_back(const Spread& spread) {
    if (spread.node >= 0) free_[static_cast<std::size_t>(spread.node)] += spread.gpus;
    for (const std::int32_t node : spread.whole_nodes) {
        free_[static_cast<std::size_t>(node)] = gpus_per_node_;
    }
    free_total_ +=
        spread.gpus + gpus_per_node_ * static_cast<std::int64_t>(spread.whole_nodes.size());
}

}  // namespace gpuctl::replay
