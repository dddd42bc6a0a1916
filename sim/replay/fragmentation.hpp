#pragma once
// The part of a node's idle GPUs that the typical tasks of a trace cannot use (FGD, USENIX ATC
// 2023).

#include <cstdint>
#include <vector>

#include "sim/replay/packing.hpp"

namespace gpuctl::replay {

class Fragmentation {
public:
    // Typical tasks are the most frequent requests that make up 95 % of `tasks`.
    explicit Fragmentation(const std::vector<PackTask>& tasks);

    // Thousandths of a GPU times the summed weight of the typical tasks: an exact integer. Divided
    // by weight_total() it is the expected amount of idle GPU that a typical task cannot use.
    [[nodiscard]] std::int64_t weighted_milli(const PackNode& node) const;
    [[nodiscard]] std::int64_t weight_total() const { return weight_total_; }
    [[nodiscard]] std::size_t size() const { return typical_.size(); }

private:
    struct Typical {
        std::int64_t cpu_milli = 0;
        std::int32_t gpus = 0;
        std::int32_t gpu_each_milli = 0;
        GpuModels models = kAnyModel;
        std::int64_t weight = 0;  // number of tasks with this request
    };

    std::vector<Typical> typical_;
    std::int64_t weight_total_ = 0;
};

}  // namespace gpuctl::replay
