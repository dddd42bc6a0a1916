#include "bench/reference/active_jobs.hpp"
#include "bench/reference/planners.hpp"

namespace gpuctl::reference {
namespace {

using namespace gpuctl::replay;

class Fifo final : public Policy {
public:
    std::optional<Instant> decide(World& world) override {
        active_.follow(world);
        for (const JobIndex index : active_.jobs()) {
            if (world.state(index).phase == JobPhase::running) continue;
            if (!world.start(index, world.job(index).gpus)) break;
        }
        return std::nullopt;
    }

private:
    ActiveJobs active_;
};

enum class Measure : std::uint8_t { time, service };

class ShortestRemaining final : public Policy {
public:
    explicit ShortestRemaining(Measure measure) : measure_(measure) {}

    std::optional<Instant> decide(World& world) override {
        active_.follow(world);
        active_.sort_by([&](JobIndex index) {
            const std::int32_t gpus = world.job(index).gpus;
            const std::int64_t left_ms = world.remaining_work(index, gpus).ms();
            return measure_ == Measure::time ? left_ms : left_ms * gpus;
        });
        world.arrange(active_.jobs());
        return std::nullopt;
    }

private:
    Measure measure_;
    ActiveJobs active_;
};

class InRounds final : public Policy {
public:
    InRounds(std::unique_ptr<Policy> inner, Duration period)
        : inner_(std::move(inner)), period_(period) {}

    std::optional<Instant> decide(World& world) override {
        const std::int64_t since_begin = (world.now() - World::kBegin).ms();
        if (since_begin % period_.ms() == 0) inner_->decide(world);
        return World::kBegin + period_ * (since_begin / period_.ms() + 1);
    }

private:
    std::unique_ptr<Policy> inner_;
    Duration period_;
};

}  // namespace

std::unique_ptr<Policy> make_fifo() { return std::make_unique<Fifo>(); }
std::unique_ptr<Policy> make_srtf() { return std::make_unique<ShortestRemaining>(Measure::time); }
std::unique_ptr<Policy> make_srsf() {
    return std::make_unique<ShortestRemaining>(Measure::service);
}
std::unique_ptr<Policy> make_in_rounds(std::unique_ptr<Policy> inner, Duration period) {
    return std::make_unique<InRounds>(std::move(inner), period);
}

}  // namespace gpuctl::reference
