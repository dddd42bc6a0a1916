// The remaining work of a pool, updated job by job, equals a recount of all jobs.

#include "scheduler/state/run_times/pool_work.hpp"

#include <gtest/gtest.h>

#include <map>

#include "scheduler/base/rng.hpp"

namespace gpuctl {
namespace {

constexpr Instant kBegin{1'700'000'000'000};

Duration recounted(const std::map<JobId, PoolWork::Part>& jobs, PoolId pool, Instant now,
                   GpuMilli offered) {
    std::int64_t busy_ms = 0;
    Duration span;
    for (const auto& [id, part] : jobs) {
        if (part.pool != pool) continue;
        if (part.ends.happened() && part.ends <= now) continue;
        const Duration left = part.ends.happened() ? part.ends - now : part.left;
        busy_ms += part.gpus.value() * left.ms();
        span = std::max(span, part.soonest - now);
    }
    return std::max(span, Duration{busy_ms / offered.value()});
}

TEST(PoolWork, equals_a_recount_of_all_jobs) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Rng rng{seed};
        PoolWork work;
        std::map<JobId, PoolWork::Part> jobs;
        Instant now = kBegin;
        for (int step = 0; step < 300; ++step) {
            now = now + Duration::seconds(rng.between(0, 500));
            const JobId id{static_cast<std::uint32_t>(rng.below(40))};
            if (rng.chance(1, 4)) {
                EXPECT_EQ(work.forget(id).exists(), jobs.contains(id));
                jobs.erase(id);
            } else {
                PoolWork::Part part;
                part.pool = PoolId{static_cast<std::uint32_t>(rng.below(2))};
                part.gpus = whole_gpus(rng.between(1, 8));
                part.left = Duration::seconds(rng.between(0, 9'000));
                if (rng.chance(1, 2)) part.ends = now + Duration::seconds(rng.between(-200, 9'000));
                part.soonest = now + Duration::seconds(rng.between(-900, 9'000));
                work.set_part(id, part);
                jobs[id] = part;
            }
            work.advance(now);
            for (std::uint32_t pool = 0; pool < 2; ++pool) {
                const Duration reported = work.rest(PoolId{pool}, now, whole_gpus(16));
                const Duration counted = recounted(jobs, PoolId{pool}, now, whole_gpus(16));
                EXPECT_LE(reported, counted + Duration::seconds(1));
                EXPECT_LE(counted, reported + Duration::seconds(1));
            }
        }
    }
}

TEST(PoolWork, an_overdue_job_has_no_remaining_work) {
    PoolWork work;
    work.set_part(JobId{1}, {PoolId{0},
                             whole_gpus(8),
                             {},
                             kBegin + Duration::seconds(10),
                             kBegin + Duration::seconds(10)});
    work.advance(kBegin);
    EXPECT_EQ(work.rest(PoolId{0}, kBegin, whole_gpus(8)), Duration::seconds(10));
    const Instant later = kBegin + Duration::seconds(11);
    work.advance(later);
    EXPECT_EQ(work.rest(PoolId{0}, later, whole_gpus(8)), Duration{});
    EXPECT_TRUE(work.forget(JobId{1}).exists());
}

TEST(PoolWork, a_start_changes_no_pool_and_a_new_or_removed_job_does) {
    PoolWork work;
    PoolWork::Part part{PoolId{0}, whole_gpus(8), Duration::seconds(100), {}, kBegin};
    EXPECT_EQ(work.set_part(JobId{1}, part), PoolId{0});
    EXPECT_FALSE(work.set_part(JobId{1}, part).exists());
    part.ends = kBegin + Duration::seconds(100);
    EXPECT_FALSE(work.set_part(JobId{1}, part).exists());
    EXPECT_EQ(work.forget(JobId{1}), PoolId{0});
    EXPECT_FALSE(work.forget(JobId{1}).exists());
}

}  // namespace
}  // namespace gpuctl
