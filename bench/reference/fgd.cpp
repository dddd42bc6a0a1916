#include <cmath>
#include <map>
#include <tuple>

#include "bench/reference/packers.hpp"
#include "sim/replay/fragmentation.hpp"

namespace gpuctl::reference {
namespace {

using namespace gpuctl::replay;

class Fgd final : public Packer {
public:
    explicit Fgd(const PackTrace& trace) : fragmentation_(trace.tasks) {}

    std::optional<Spot> choose(const PackTask& task, const Packing& world) override {
        follow(world);
        std::vector<NodeScore>& scores = node_scores_of(task);
        scores.resize(world.nodes().size());
        std::optional<Spot> best;
        std::int32_t best_score = -1;
        for (std::uint32_t i = 0; i < world.nodes().size(); ++i) {
            const PackNode& node = world.nodes()[i];
            if (scores[i].of_version != versions_[i]) scores[i] = score_of(task, node, i);
            if (scores[i].score <= best_score || !node.fits(task)) continue;
            best = Spot{NodeIndex{i}, scores[i].gpu};
            best_score = scores[i].score;
        }
        if (best) changed_ = best->node;
        return best;
    }

private:
    // The score of a request on a node, valid until the node changes.
    struct NodeScore {
        std::uint64_t of_version = 0;
        std::int32_t score = -1;
        std::int32_t gpu = 0;
    };
    using Request = std::tuple<std::int64_t, std::int32_t, std::int64_t>;

    // Only the last choice has changed the world.
    void follow(const Packing& world) {
        if (versions_.empty()) {
            versions_.assign(world.nodes().size(), 1);
            fragmented_.resize(world.nodes().size());
            for (std::uint32_t i = 0; i < world.nodes().size(); ++i) refresh(world, NodeIndex{i});
        } else if (changed_.exists()) {
            ++versions_[changed_.value()];
            refresh(world, changed_);
        }
        changed_ = NodeIndex::none();
    }

    void refresh(const Packing& world, NodeIndex index) {
        fragmented_[index.value()] = fragmentation_.weighted_milli(world.node(index));
    }

    std::vector<NodeScore>& node_scores_of(const PackTask& task) {
        return node_scores_[{task.cpu.value(), task.gpus, task.gpu_each.value()}];
    }

    NodeScore score_of(const PackTask& task, const PackNode& node, std::uint32_t index) {
        NodeScore best;
        best.of_version = versions_[index];
        const bool whole = task.gpus != 1 || task.gpu_each.value() == kGpuMilliPerGpu;
        if (whole) {
            if (node.cpu_free < task.cpu || node.gpus_completely_idle() < task.gpus) return best;
            best.score = score_with(task, 0, node, index);
            return best;
        }
        if (node.cpu_free < task.cpu) return best;
        for (std::int32_t gpu = 0; gpu < node.gpus; ++gpu) {
            const auto free = node.gpu_free_milli[static_cast<std::size_t>(gpu)];
            if (free < task.gpu_each.value()) continue;
            const std::int32_t found = score_with(task, gpu, node, index);
            if (found <= best.score) continue;
            best.score = found;
            best.gpu = gpu;
        }
        return best;
    }

    [[nodiscard]] std::int32_t score_with(const PackTask& task, std::int32_t gpu,
                                          const PackNode& node, std::uint32_t index) {
        after_ = node;
        put_task(after_, task, gpu);
        const std::int64_t removed = fragmented_[index] - fragmentation_.weighted_milli(after_);
        const double gpus = static_cast<double>(removed) / 1000.0 /
                            static_cast<double>(fragmentation_.weight_total());
        return static_cast<std::int32_t>(100.0 / (1.0 + std::exp(-gpus)));
    }

    Fragmentation fragmentation_;
    std::vector<std::uint64_t> versions_;
    std::vector<std::int64_t> fragmented_;
    std::map<Request, std::vector<NodeScore>> node_scores_;
    NodeIndex changed_;
    PackNode after_;  // a member to reuse its memory
};

}  // namespace

std::unique_ptr<Packer> make_fgd(const PackTrace& trace) { return std::make_unique<Fgd>(trace); }

}  // namespace gpuctl::reference
