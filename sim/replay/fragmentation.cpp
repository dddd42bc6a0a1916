#include "sim/replay/fragmentation.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace gpuctl::replay {

Fragmentation::Fragmentation(const std::vector<PackTask>& tasks) {
    // Memory is left out, as in the paper: CPU or GPU is always exhausted first.
    using Request = std::tuple<std::int64_t, std::int32_t, std::int64_t, GpuModels>;
    std::map<Request, std::int64_t> counts;
    for (const PackTask& task : tasks) {
        ++counts[{task.cpu.value(), task.gpus, task.gpu_each.value(), task.models}];
    }
    std::vector<std::pair<std::int64_t, Request>> by_count;
    for (const auto& [request, count] : counts) by_count.emplace_back(count, request);
    std::stable_sort(by_count.begin(), by_count.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    const auto enough = static_cast<std::int64_t>(tasks.size()) * 95;
    for (const auto& [count, request] : by_count) {
        if (weight_total_ * 100 >= enough) break;
        const auto& [cpu, gpus, gpu_each, models] = request;
        typical_.push_back({cpu, gpus, static_cast<std::int32_t>(gpu_each), models, count});
        weight_total_ += count;
    }
}

std::int64_t Fragmentation::weighted_milli(const PackNode& node) const {
    const std::int64_t idle = node.gpu_free_total_milli();
    if (idle == 0) return 0;
    std::int64_t sum = 0;
    for (const Typical& task : typical_) {
        std::int32_t usable_gpus = 0;
        std::int64_t unusable = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(node.gpus); ++i) {
            const std::int32_t free = node.gpu_free_milli[i];
            if (free >= task.gpu_each_milli) {
                ++usable_gpus;
            } else {
                unusable += free;
            }
        }
        const bool runs = task.gpus > 0 && usable_gpus >= task.gpus &&
                          node.cpu_free.value() >= task.cpu_milli &&
                          (node.model & task.models) != 0;
        sum += task.weight * (runs ? unusable : idle);
    }
    return sum;
}

}  // namespace gpuctl::replay
