#include <algorithm>

#include "bench/reference/active_jobs.hpp"
#include "bench/reference/planners.hpp"

namespace gpuctl::reference {
namespace {

using namespace gpuctl::replay;

class Tiresias final : public Policy {
public:
    explicit Tiresias(TiresiasSettings settings) : settings_(std::move(settings)) {}

    std::optional<Instant> decide(World& world) override {
        active_.follow(world);
        active_.sort_by([&](JobIndex index) {
            // Jobs are numbered in order of submission.
            return (queue_of(world.state(index)) << 32) + index.value();
        });
        world.arrange(active_.jobs());
        return next_sinking(world);
    }

private:
    [[nodiscard]] std::int64_t queue_of(const JobState& job) const {
        const auto& limits = settings_.thresholds_gpu_ms;
        return std::upper_bound(limits.begin(), limits.end(), job.served_gpu_ms) - limits.begin();
    }

    [[nodiscard]] std::optional<Instant> next_sinking(const World& world) const {
        std::optional<Instant> next;
        for (const JobIndex index : world.running()) {
            const JobState& job = world.state(index);
            const auto queue = static_cast<std::size_t>(queue_of(job));
            if (queue == settings_.thresholds_gpu_ms.size()) continue;
            const std::int64_t left = settings_.thresholds_gpu_ms[queue] - job.served_gpu_ms;
            const Instant at = world.now() + Duration{(left + job.gpus - 1) / job.gpus};
            if (!next || at < *next) next = at;
        }
        return next;
    }

    TiresiasSettings settings_;
    ActiveJobs active_;
};

}  // namespace

std::unique_ptr<Policy> make_tiresias(TiresiasSettings settings) {
    return std::make_unique<Tiresias>(std::move(settings));
}

}  // namespace gpuctl::reference
