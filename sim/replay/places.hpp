#pragma once
// Which GPUs of which nodes are in use, independent of any policy: a placement that does not fit is
// refused.

#include <cstdint>
#include <optional>
#include <vector>

namespace gpuctl::replay {

enum class Placing : std::uint8_t {
    pooled,  // any free GPUs will do
    // up to a node's size on one node (first fit); larger: whole nodes and one node for the rest
    packed,
};

// The GPUs of one job. Empty if pooled: then only their number matters.
struct Spread {
    std::int32_t node = -1;  // the node that is not taken whole
    std::int32_t gpus = 0;   // GPUs on that node; if pooled, all GPUs of the job
    std::vector<std::int32_t> whole_nodes;
};

class Places {
public:
    Places(std::int32_t nodes, std::int32_t gpus_per_node, Placing placing);

    [[nodiscard]] std::optional<Spread> allocate(std::int32_t gpus);
    // Takes exactly these GPUs. False, without any change, if one of them is not free.
    [[nodiscard]] bool take_ceded(const Spread& spread);
    void give_back(const Spread& spread);
    void clear();

    [[nodiscard]] std::int64_t total() const;
    [[nodiscard]] std::int64_t free() const { return free_total_; }
    // If GPUs are pooled, all nodes count as one node.
    [[nodiscard]] std::int64_t free_on(std::size_t node) const {
        return placing_ == Placing::pooled ? free_total_ : free_[node];
    }
    [[nodiscard]] std::size_t nodes() const {
        return placing_ == Placing::pooled ? 1 : free_.size();
    }

private:
    [[nodiscard]] std::optional<Spread> take_packed(std::int32_t gpus);
    [[nodiscard]] std::optional<std::int32_t> first_fit(std::int32_t gpus,
                                                        const std::vector<std::int32_t>& but) const;

    std::int32_t gpus_per_node_;
    Placing placing_;
    std::vector<std::int32_t> free_;  // by node
    std::int64_t free_total_ = 0;
};

}  // namespace gpuctl::replay
