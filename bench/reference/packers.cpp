#include "bench/reference/packers.hpp"

#include <algorithm>

namespace gpuctl::reference {
namespace {

using namespace gpuctl::replay;

bool shares_a_gpu(const PackTask& task) {
    return task.gpus == 1 && task.gpu_each.value() < kGpuMilliPerGpu;
}

std::vector<std::int32_t> gpus_with_room(const PackNode& node, const PackTask& task) {
    std::vector<std::int32_t> found;
    for (std::int32_t i = 0; i < node.gpus; ++i) {
        const auto free = node.gpu_free_milli[static_cast<std::size_t>(i)];
        if (free >= task.gpu_each.value()) found.push_back(i);
    }
    return found;
}

class Random final : public Packer {
public:
    explicit Random(std::uint64_t seed) : rng_(seed) {}

    std::optional<Spot> choose(const PackTask& task, const Packing& world) override {
        std::vector<NodeIndex> fitting;
        for (std::uint32_t i = 0; i < world.nodes().size(); ++i) {
            if (world.nodes()[i].fits(task)) fitting.push_back(NodeIndex{i});
        }
        if (fitting.empty()) return std::nullopt;
        const NodeIndex node = fitting[rng_.below(fitting.size())];
        if (!shares_a_gpu(task)) return Spot{node, 0};
        const auto gpus = gpus_with_room(world.node(node), task);
        return Spot{node, gpus[rng_.below(gpus.size())]};
    }

private:
    Rng rng_;
};

class BestFit final : public Packer {
public:
    std::optional<Spot> choose(const PackTask& task, const Packing& world) override {
        if (capacity_cpu_ == 0) measure(world);
        std::optional<Spot> best;
        std::int64_t best_left = 0;
        for (std::uint32_t i = 0; i < world.nodes().size(); ++i) {
            const PackNode& node = world.nodes()[i];
            if (!node.fits(task)) continue;
            const std::int64_t left = left_after(node, task);
            if (best && left >= best_left) continue;
            best = Spot{NodeIndex{i}, 0};
            best_left = left;
        }
        if (best && shares_a_gpu(task)) best->gpu = tightest_gpu(world.node(best->node), task);
        return best;
    }

private:
    // Both resources have the same weight, each as a share of the largest node's amount, with a
    // common denominator.
    [[nodiscard]] std::int64_t left_after(const PackNode& node, const PackTask& task) const {
        const std::int64_t cpu = node.cpu_free.value() - task.cpu.value();
        const std::int64_t gpu = node.gpu_free_total_milli() - task.gpu_total().value();
        return cpu * capacity_gpu_ + gpu * capacity_cpu_;
    }

    static std::int32_t tightest_gpu(const PackNode& node, const PackTask& task) {
        const auto gpus = gpus_with_room(node, task);
        return *std::min_element(gpus.begin(), gpus.end(), [&](std::int32_t a, std::int32_t b) {
            return node.gpu_free_milli[static_cast<std::size_t>(a)] <
                   node.gpu_free_milli[static_cast<std::size_t>(b)];
        });
    }

    void measure(const Packing& world) {
        for (const PackNode& node : world.nodes()) {
            capacity_cpu_ = std::max(capacity_cpu_, node.cpu_free.value());
            capacity_gpu_ = std::max(capacity_gpu_, node.gpu_free_total_milli());
        }
        capacity_cpu_ = std::max<std::int64_t>(capacity_cpu_, 1);
    }

    std::int64_t capacity_cpu_ = 0;  // of the largest node when all nodes are empty
    std::int64_t capacity_gpu_ = 0;
};

}  // namespace

std::unique_ptr<Packer> make_random(std::uint64_t seed) { return std::make_unique<Random>(seed); }
std::unique_ptr<Packer> make_best_fit() { return std::make_unique<BestFit>(); }

}  // namespace gpuctl::reference
