#include <algorithm>

#include "bench/reference/active_jobs.hpp"
#include "bench/reference/planners.hpp"

namespace gpuctl::reference {
namespace {

using namespace gpuctl::replay;

// When the head of the queue will start at the latest, and the GPUs that it will leave free then.
struct Reservation {
    Instant at;
    std::int64_t gpus_spare = 0;
};

class Easy final : public Policy {
public:
    explicit Easy(BackfillOrder order) : order_(order) {}

    std::optional<Instant> decide(World& world) override {
        for (; seen_ < world.arrived(); ++seen_) queue_.push_back(JobIndex{seen_});
        std::size_t started = 0;
        while (started < queue_.size() && try_start(world, queue_[started])) ++started;
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(started));
        if (queue_.size() > 1 && world.gpus_free() > 0) backfill(world);
        return std::nullopt;
    }

private:
    static bool try_start(World& world, JobIndex index) {
        return world.start(index, world.job(index).gpus);
    }

    static Reservation reserve(const World& world, JobIndex head) {
        std::vector<std::pair<Instant, std::int32_t>> ends;
        for (const JobIndex index : world.running()) {
            const JobState& job = world.state(index);
            ends.emplace_back(job.started_at + world.limit(index), job.gpus);
        }
        std::sort(ends.begin(), ends.end());
        std::int64_t free = world.gpus_free();
        const std::int32_t wanted = world.job(head).gpus;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            free += ends[i].second;
            // All jobs that end at this time must be counted, or the number of spare GPUs would be
            // too small.
            if (i + 1 < ends.size() && ends[i + 1].first == ends[i].first) continue;
            if (free >= wanted) return {ends[i].first, free - wanted};
        }
        return {world.now(), 0};  // never reached: the head fits into an empty cluster
    }

    void backfill(World& world) {
        Reservation head = reserve(world, queue_.front());
        std::vector<JobIndex> others(queue_.begin() + 1, queue_.end());
        if (order_ == BackfillOrder::shortest) {
            std::stable_sort(others.begin(), others.end(), [&](JobIndex a, JobIndex b) {
                return world.limit(a) < world.limit(b);
            });
        }
        for (const JobIndex index : others) {
            const std::int32_t gpus = world.job(index).gpus;
            const bool ends_before = world.now() + world.limit(index) <= head.at;
            if (!ends_before && gpus > head.gpus_spare) continue;
            if (!try_start(world, index)) continue;
            if (!ends_before) head.gpus_spare -= gpus;
        }
        std::erase_if(
            queue_, [&](JobIndex index) { return world.state(index).phase != JobPhase::waiting; });
    }

    BackfillOrder order_;
    std::vector<JobIndex> queue_;
    std::uint32_t seen_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_easy(BackfillOrder order) { return std::make_unique<Easy>(order); }

}  // namespace gpuctl::reference
