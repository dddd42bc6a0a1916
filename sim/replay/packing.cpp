#include "sim/replay/packing.hpp"

#include <algorithm>

#include "scheduler/base/check.hpp"
#include "scheduler/base/wide.hpp"
#include "sim/replay/fragmentation.hpp"

namespace gpuctl::replay {

std::int64_t PackNode::gpu_free_total_milli() const {
    std::int64_t sum = 0;
    for (const std::int32_t free : gpu_free_milli) sum += free;
    return sum;
}

std::int32_t PackNode::gpus_completely_idle() const {
    return static_cast<std::int32_t>(
        std::count(gpu_free_milli.begin(), gpu_free_milli.end(), kGpuMilliPerGpu));
}

bool PackNode::fits(const PackTask& task) const {
    if (cpu_free < task.cpu || memory_free < task.memory) return false;
    if (task.gpus == 0) return true;
    if ((model & task.models) == 0) return false;
    const auto each = task.gpu_each.value();
    return task.gpus <= std::count_if(gpu_free_milli.begin(), gpu_free_milli.end(),
                                      [each](std::int32_t free) { return free >= each; });
}

PackNode with_task(const PackNode& node, const PackTask& task, std::int32_t gpu) {
    PackNode after = node;
    put_task(after, task, gpu);
    return after;
}

void put_task(PackNode& node, const PackTask& task, std::int32_t gpu) {
    node.cpu_free -= task.cpu;
    node.memory_free -= task.memory;
    if (task.gpus == 0) return;
    const auto each = static_cast<std::int32_t>(task.gpu_each.value());
    if (each < kGpuMilliPerGpu) {
        auto& free = node.gpu_free_milli.at(static_cast<std::size_t>(gpu));
        GPUCTL_CHECK(free >= each, "a packer must choose a GPU with room");
        free -= each;
        return;
    }
    std::int32_t left = task.gpus;
    for (std::int32_t& free : node.gpu_free_milli) {
        if (left == 0 || free != kGpuMilliPerGpu) continue;
        free = 0;
        --left;
    }
    GPUCTL_CHECK(left == 0, "a packer must choose a node with room");
}

void Packing::place(const PackTask& task, Spot spot) {
    PackNode& node = nodes_[spot.node.value()];
    GPUCTL_CHECK(node.fits(task), "a packer must choose a node with room");
    put_task(node, task, spot.gpu);
}

Result<std::vector<PackTask>> draw_arrivals(const PackTrace& trace, std::int64_t percent,
                                            std::uint64_t seed) {
    std::int64_t limit_milli = 0;
    for (const PackNode& node : trace.nodes) limit_milli += node.gpu_free_total_milli();
    limit_milli = limit_milli * percent / 100;
    std::int64_t once_milli = 0;  // requested amount if each task arrives once
    for (const PackTask& task : trace.tasks) once_milli += task.gpu_total().value();
    if (Wide{limit_milli} * std::ssize(trace.tasks) > Wide{once_milli} * kArrivalsMax) {
        return make_error(ErrorCode::ValidationFailed,
                          "more than " + std::to_string(kArrivalsMax) +
                              " tasks would have to arrive before they ask for " +
                              std::to_string(percent) +
                              " % of the cluster's GPUs: hardly any of them asks for one; take a "
                              "smaller share or leave tasks without GPUs out");
    }
    std::vector<PackTask> pool = trace.tasks;
    Rng rng(seed);
    for (std::size_t i = pool.size(); i > 1; --i) std::swap(pool[i - 1], pool[rng.below(i)]);
    std::vector<PackTask> arrivals;
    std::int64_t asked_milli = 0;
    for (std::size_t i = 0; !pool.empty(); ++i) {
        const PackTask& next = i < pool.size() ? pool[i] : trace.tasks[rng.below(pool.size())];
        asked_milli += next.gpu_total().value();
        if (asked_milli > limit_milli) break;
        arrivals.push_back(next);
    }
    return arrivals;
}

PackOutcome run_packing(const PackTrace& trace, const std::vector<PackTask>& arrivals,
                        Packer& packer) {
    Packing world(trace);
    PackOutcome outcome;
    for (const PackNode& node : world.nodes()) outcome.gpus_milli += node.gpu_free_total_milli();
    for (const PackTask& task : arrivals) {
        const std::optional<Spot> spot = packer.choose(task, world);
        if (spot) {
            world.place(task, *spot);
            ++outcome.placed;
            outcome.allocated_milli += task.gpu_total().value();
            continue;
        }
        ++outcome.dropped;
        const auto fits = [&](const PackNode& node) { return node.fits(task); };
        if (std::any_of(world.nodes().begin(), world.nodes().end(), fits)) {
            ++outcome.dropped_though_fitting;
        }
    }
    const Fragmentation fragmentation(trace.tasks);
    std::int64_t weighted = 0;
    for (const PackNode& node : world.nodes()) weighted += fragmentation.weighted_milli(node);
    if (fragmentation.weight_total() > 0) {
        outcome.fragmented_micro = weighted * 1000 / fragmentation.weight_total();
    }
    return outcome;
}

}  // namespace gpuctl::replay
