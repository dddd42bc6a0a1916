#include "sim/replay/progress.hpp"

#include <algorithm>

#include "scheduler/base/check.hpp"
#include "scheduler/base/wide.hpp"

namespace gpuctl::replay {
namespace {

// Epochs are at most CsvReader::kSecondsMax (10^12 ms), so the product with kEpochParts needs more
// than 64 bits.

std::int64_t times_over_ceiling(std::int64_t a, std::int64_t b, std::int64_t divisor) {
    return static_cast<std::int64_t>((Wide{a} * b + divisor - 1) / divisor);
}
std::int64_t times_over_floor(std::int64_t a, std::int64_t b, std::int64_t divisor) {
    return static_cast<std::int64_t>(Wide{a} * b / divisor);
}

}  // namespace

bool Progress::can_run_on(std::int32_t gpus) const {
    if (curve_ == nullptr) return gpus == job_->gpus;
    return curve_->allows(gpus, epoch_);
}

void Progress::start_on(std::int32_t gpus, Overhead rule) {
    GPUCTL_CHECK(can_run_on(gpus), "a policy must ask for a size the job can run on");
    gpus_ = gpus;
    const Duration cost = started_ ? job_->restart_cost : job_->start_cost;
    start_left_ = rule == Overhead::clean ? cost : Duration{0};
    started_ = true;
}

void Progress::advance(Duration elapsed, Overhead rule) {
    if (rule == Overhead::muri) {
        elapsed = std::max(Duration{0}, elapsed - job_->restart_cost);
    } else {
        const Duration paid = std::min(elapsed, start_left_);
        start_left_ = start_left_ - paid;
        elapsed = elapsed - paid;
    }
    if (curve_ == nullptr) {
        done_ = done_ + elapsed;
        return;
    }
    while (epoch_ < curve_->epochs.size() && elapsed > Duration{0}) {
        const Duration left = epoch_left_on(gpus_);
        if (elapsed < left) {
            const std::int64_t whole = curve_->epoch_time(epoch_, gpus_).ms();
            epoch_done_ += times_over_floor(elapsed.ms(), kEpochParts, whole);
            return;
        }
        elapsed = elapsed - left;
        ++epoch_;
        epoch_done_ = 0;
    }
}

Duration Progress::epoch_left_on(std::int32_t gpus) const {
    const std::int64_t whole = curve_->epoch_time(epoch_, gpus).ms();
    return Duration{times_over_ceiling(whole, kEpochParts - epoch_done_, kEpochParts)};
}

Duration Progress::remaining_work_on(std::int32_t gpus) const {
    if (curve_ == nullptr) return job_->run - done_;
    if (epoch_ == curve_->epochs.size()) return Duration{0};
    Duration left = epoch_left_on(gpus);
    for (std::size_t epoch = epoch_ + 1; epoch < curve_->epochs.size(); ++epoch) {
        left = left + curve_->epoch_time(epoch, gpus);
    }
    return left;
}

}  // namespace gpuctl::replay
