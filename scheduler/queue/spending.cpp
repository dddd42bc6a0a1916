#include "scheduler/queue/spending.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

Spending::Spending(const BudgetPolicy& policy, Instant now)
    : period_(period_at(policy, now)), since_(now) {}

Spending::Kept Spending::kept(Instant now) const { return {period_.begin, used(now), carried_}; }

void Spending::restore(const Kept& kept, Instant now) {
    advance(now);
    used_ = kept.used;
    carried_ = kept.carried;
}

void Spending::advance(Instant now) {
    used_ = used(now);
    since_ = std::max(since_, now);
    while (!ends_.empty() && ends_.begin()->first <= since_) {
        const auto [end, gpus] = *ends_.begin();
        ending_ -= gpus;
        ending_sum_ -= static_cast<Wide>(gpus.value()) * (end - period_.begin).ms();
        overdue_ += gpus;
        ends_.erase(ends_.begin());
    }
}

void Spending::hold(GpuMilli gpus, Instant end, Instant now) {
    advance(now);
    held_ += gpus;
    if (!end.happened()) return;
    if (end <= since_) {
        overdue_ += gpus;
        return;
    }
    ends_[end] += gpus;
    if (end > period_.end) return;
    ending_ += gpus;
    ending_sum_ += static_cast<Wide>(gpus.value()) * (end - period_.begin).ms();
}

void Spending::release(GpuMilli gpus, Instant end, Instant now) {
    advance(now);
    held_ -= gpus;
    if (!end.happened()) return;
    if (end <= since_) {
        overdue_ -= gpus;
        return;
    }
    const auto found = ends_.find(end);
    if (found == ends_.end()) return;  // verify() reports the difference
    found->second -= gpus;
    if (found->second == GpuMilli{}) ends_.erase(found);
    if (end > period_.end) return;
    ending_ -= gpus;
    ending_sum_ -= static_cast<Wide>(gpus.value()) * (end - period_.begin).ms();
}

void Spending::add_nomination(GpuMilli gpus, Duration limit) { nominated_[limit] += gpus; }

void Spending::withdraw_nomination(GpuMilli gpus, Duration limit) {
    const auto found = nominated_.find(limit);
    if (found == nominated_.end()) return;  // verify() reports the difference
    found->second -= gpus;
    if (found->second == GpuMilli{}) nominated_.erase(found);
}

GpuMilli Spending::nominated() const {
    GpuMilli sum;
    for (const auto& [limit, gpus] : nominated_) sum += gpus;
    return sum;
}

// Counts only pods that end within the period, because the next period has other sums.
void Spending::sum_up() {
    ending_ = GpuMilli{};
    ending_sum_ = 0;
    for (const auto& [end, gpus] : ends_) {
        if (end > period_.end) break;
        ending_ += gpus;
        ending_sum_ += static_cast<Wide>(gpus.value()) * (end - period_.begin).ms();
    }
}

bool Spending::turn(const BudgetPolicy& policy, Instant now) {
    if (now < period_.end) return false;
    while (now >= period_.end) {
        advance(period_.end);
        const GpuTime left = clamped(policy.amount + carried_ - used_);
        carried_ = std::min(left, policy.carry_over);
        if (has_fault(SeededFault::forgive_overdrafts)) carried_ = std::max(carried_, GpuTime{});
        used_ = GpuTime{};
        period_ = period_at(policy, period_.end);
        sum_up();
    }
    advance(now);
    return true;
}

GpuTime Spending::used(Instant now) const { return clamped(used_ + gpu_time(held_, now - since_)); }

GpuTime Spending::committed(Instant now) const {
    Wide sum = ending_sum_ - static_cast<Wide>(ending_.value()) * (now - period_.begin).ms();
    GpuMilli endless = held_ - overdue_ - ending_;
    for (const auto& [end, gpus] : ends_) {  // pods that ended since the last change
        if (end > now) break;
        sum += static_cast<Wide>(gpus.value()) * (now - end).ms();
    }
    sum += static_cast<Wide>(endless.value()) * (period_.end - now).ms();
    sum += committed_to_nominations(now);
    return GpuTime{static_cast<std::int64_t>(std::clamp<Wide>(sum, 0, kGpuTimeMost.value()))};
}

std::vector<BudgetDraw> Spending::draws(Instant now) const {
    std::vector<BudgetDraw> out;
    GpuMilli endless = held_ - overdue_;
    for (const auto& [end, gpus] : ends_) {
        out.push_back({gpus, end, {}});
        endless -= gpus;
    }
    for (const auto& [limit, gpus] : nominated_) {
        out.push_back({gpus, limit > Duration{} ? now + limit : Instant{}, {}});
    }
    if (endless > GpuMilli{}) out.push_back({endless, {}, {}});
    return out;
}

Wide Spending::committed_to_nominations(Instant now) const {
    Wide sum = 0;
    for (const auto& [limit, gpus] : nominated_) sum += needed(gpus, limit, now).value();
    return sum;
}

GpuTime Spending::needed(GpuMilli gpus, Duration limit, Instant now) const {
    Duration time = period_.end - now;
    if (limit > Duration{}) time = std::min(time, limit);
    return gpu_time(gpus, time);
}

Instant Spending::fits_from(GpuMilli gpus, GpuTime left) const {
    if (left <= GpuTime{} || gpus <= GpuMilli{}) return period_.end;
    return Instant{period_.end.ms() - left.value() / gpus.value()};
}

Instant Spending::fits_with_nominations_from(GpuMilli gpus, Duration limit, GpuTime left,
                                             Instant now) const {
    const Wide most = left.value() + committed_to_nominations(now);
    Instant too_soon = now;
    Instant enough = period_.end;
    while ((enough - too_soon).ms() > 1) {
        const Instant middle{too_soon.ms() + (enough - too_soon).ms() / 2};
        const Wide needs = needed(gpus, limit, middle).value() + committed_to_nominations(middle);
        (needs <= most ? enough : too_soon) = middle;
    }
    return enough;
}

}  // namespace gpuctl
