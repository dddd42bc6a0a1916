#include "scheduler/state/run_times/pool_work.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

constexpr std::int64_t kMsPerSecond = 1'000;
constexpr std::int64_t kLongest = 366LL * 24 * 3600;  // beyond this, the sums could overflow

std::int64_t seconds(std::int64_t ms) { return (ms + kMsPerSecond - 1) / kMsPerSecond; }

}  // namespace

void PoolWork::count(const Part& part, std::int64_t sign) {
    if (pools_.size() <= part.pool.value()) pools_.resize(part.pool.value() + 1);
    Sums& sums = pools_[part.pool.value()];
    const std::int64_t gpus = part.gpus.value() * sign;
    if (part.ends.happened()) {
        sums.held += gpus;
        sums.ends += gpus * seconds(part.ends.ms());
    } else {
        sums.waiting += gpus * std::min(seconds(part.left.ms()), kLongest);
    }
}

PoolId PoolWork::set_part(JobId job, const Part& part) {
    if (jobs_.size() <= job.value()) jobs_.resize(job.value() + 1);
    Kept& kept = jobs_[job.value()];
    if (kept.is_known && kept.part == part) return PoolId::none();
    const bool is_new = !kept.is_known || kept.part.pool != part.pool ||
                        kept.part.soonest != part.soonest || kept.part.gpus != part.gpus;
    forget(job);
    count(part, 1);
    kept = {part, true, false};
    pools_[part.pool.value()].soonest.emplace(part.soonest, job);
    if (part.ends.happened()) ends_.emplace(part.ends, job);
    return is_new ? part.pool : PoolId::none();
}

PoolId PoolWork::forget(JobId job) {
    if (job.value() >= jobs_.size() || !jobs_[job.value()].is_known) return PoolId::none();
    Kept& kept = jobs_[job.value()];
    const PoolId pool = kept.part.pool;
    if (!kept.is_over) {
        count(kept.part, -1);
        pools_[kept.part.pool.value()].soonest.erase({kept.part.soonest, job});
        if (kept.part.ends.happened()) ends_.erase({kept.part.ends, job});
    }
    kept = {};
    return pool;
}

void PoolWork::clear() {
    jobs_.clear();
    pools_.clear();
    ends_.clear();
}

void PoolWork::advance(Instant now) {
    while (!ends_.empty() && ends_.begin()->first <= now) {
        const JobId job = ends_.begin()->second;
        Kept& kept = jobs_[job.value()];
        count(kept.part, -1);
        pools_[kept.part.pool.value()].soonest.erase({kept.part.soonest, job});
        kept.is_over = true;
        ends_.erase(ends_.begin());
    }
}

Duration PoolWork::rest(PoolId pool, Instant now, GpuMilli offered) const {
    if (pool.value() >= pools_.size()) return {};
    const Sums& sums = pools_[pool.value()];
    const std::int64_t busy = sums.waiting + sums.ends - sums.held * (now.ms() / kMsPerSecond);
    Duration rest;
    if (offered > GpuMilli{} && busy > 0) rest = Duration::seconds(busy / offered.value());
    if (!sums.soonest.empty()) rest = std::max(rest, sums.soonest.rbegin()->first - now);
    return rest;
}

}  // namespace gpuctl
