// The arithmetic of shares against oracles that are slow and obviously correct: units are handed
// out one by one, and usage is counted millisecond by millisecond.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "scheduler/queue/division.hpp"
#include "scheduler/queue/share.hpp"

namespace gpuctl::test {
namespace {

// Fills every guarantee, then gives one unit after the other to the queue with the smallest amount
// for its weight, the first of equals.
std::vector<std::int64_t> poured(std::int64_t whole, const std::vector<ShareRequest>& requests) {
    std::vector<std::int64_t> given;
    std::vector<std::int64_t> most;
    std::int64_t guaranteed = 0;
    for (const ShareRequest& request : requests) {
        most.push_back(std::min(request.demand, request.cap));
        given.push_back(std::min(request.guaranteed, most.back()));
        guaranteed += given.back();
    }
    if (guaranteed > whole) {
        most = given;
        for (std::int64_t& one : given) one = one * whole / guaranteed;
    }
    std::int64_t left = whole - std::accumulate(given.begin(), given.end(), std::int64_t{0});
    for (; left > 0; --left) {
        std::size_t best = requests.size();
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (given[i] >= most[i]) continue;
            if (best == requests.size() ||
                given[i] * requests[best].weight < given[best] * requests[i].weight) {
                best = i;
            }
        }
        if (best == requests.size()) break;
        ++given[best];
    }
    return given;
}

std::int64_t up_to(std::int64_t most) { return *rc::gen::inRange<std::int64_t>(0, most + 1); }

TEST(Division, is_water_poured_unit_by_unit) {
    EXPECT_TRUE(rc::check([] {
        std::vector<ShareRequest> requests;
        for (std::int64_t i = up_to(6); i > 0; --i) {
            requests.push_back({1 + up_to(7), up_to(3) == 0 ? up_to(30) : 0, up_to(60), up_to(80)});
        }
        const std::int64_t whole = up_to(120);
        RC_ASSERT(divide(whole, requests) == poured(whole, requests));
    }));
}

TEST(Division, leaves_nothing_while_demand_remains_and_keeps_every_guarantee) {
    EXPECT_TRUE(rc::check([] {
        std::vector<ShareRequest> requests;
        std::int64_t wanted = 0;
        std::int64_t guaranteed = 0;
        for (std::int64_t i = up_to(20); i > 0; --i) {
            requests.push_back({1 + up_to(1'000'000), up_to(5'000'000), up_to(1'000'000'000),
                                up_to(1'000'000'000)});
            const std::int64_t most = std::min(requests.back().demand, requests.back().cap);
            wanted += most;
            guaranteed += std::min(requests.back().guaranteed, most);
        }
        const std::int64_t whole = up_to(10'000'000'000);
        const std::vector<std::int64_t> given = divide(whole, requests);
        RC_ASSERT(std::accumulate(given.begin(), given.end(), std::int64_t{0}) ==
                  std::min(whole, wanted));
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const std::int64_t most = std::min(requests[i].demand, requests[i].cap);
            RC_ASSERT(given[i] <= most);
            if (guaranteed <= whole) RC_ASSERT(given[i] >= std::min(requests[i].guaranteed, most));
        }
    }));
}

// Rounding down would leave a GPU idle: if two queues share three GPUs, the first gets two.
TEST(Division, gives_the_remainder_away) {
    const ShareRequest equal{1, 0, 3, 3};
    EXPECT_EQ(divide(3, {equal, equal}), (std::vector<std::int64_t>{2, 1}));
    EXPECT_EQ(divide(8, {{3, 0, 9, 9}, {1, 0, 9, 9}}), (std::vector<std::int64_t>{6, 2}));
    EXPECT_EQ(divide(8, {{3, 0, 2, 9}, {1, 0, 9, 9}}), (std::vector<std::int64_t>{2, 6}));  // lent
    EXPECT_EQ(divide(8, {{9, 0, 9, 9}, {1, 4, 9, 9}}), (std::vector<std::int64_t>{4, 4}));
    EXPECT_EQ(divide(6, {{1, 8, 8, 8}, {1, 4, 9, 9}}), (std::vector<std::int64_t>{4, 2}));
    EXPECT_TRUE(divide(5, {}).empty());
}

// The same history gives the same mean, however often it is read.
TEST(Usage, depends_on_what_was_held_and_not_on_when_it_is_read) {
    EXPECT_TRUE(rc::check([] {
        const std::int64_t tick = 1 + up_to(50);
        Usage looked;
        Usage counted;  // by the millisecond
        std::int64_t counted_tick = 0;
        std::int64_t tick_now = 0;
        Load held;
        std::int64_t now = 0;
        for (std::int64_t change = up_to(12); change > 0; --change) {
            const std::int64_t until = now + up_to(3 * tick);
            for (std::int64_t ms = now + 1; ms <= until; ++ms) {
                counted.accumulate(held, Instant{ms});
                if (ms / tick == counted_tick) continue;
                counted.finish(held, tick, counted_tick, ms / tick);
                counted_tick = ms / tick;
            }
            now = until;
            if (now / tick != tick_now) looked.finish(held, tick, tick_now, now / tick);
            tick_now = now / tick;
            looked.accumulate(held, Instant{now});
            held = Load{GpuMilli{up_to(64'000)}, CpuMilli{up_to(9'000)}, Bytes{up_to(9) << 30}};
        }
        RC_ASSERT(looked.mean == counted.mean);
        RC_ASSERT(looked.sum == counted.sum);
    }));
}

TEST(Usage, is_half_after_a_half_life_and_zero_in_the_end) {
    Usage usage;
    const std::int64_t tick = 1'000;
    const Load eight{whole_gpus(8), {}, {}};
    usage.finish(eight, tick, 0, 16 * 40);  // far in the future
    const std::int64_t full = 8'000 * kUsageUnit;
    EXPECT_NEAR(static_cast<double>(usage.mean[0]), static_cast<double>(full), 40.0);
    usage.finish({}, tick, 16 * 40, 16 * 41);
    EXPECT_NEAR(static_cast<double>(usage.mean[0]), static_cast<double>(full) / 2, 40.0);
    usage.finish({}, tick, 16 * 41, 16 * 100);
    EXPECT_EQ(usage.mean[0], 0);
}

TEST(Share, is_that_of_the_dominant_resource) {
    const Load whole{whole_gpus(10), CpuMilli{100'000}, Bytes{100LL << 30}};
    const Usage fresh;
    EXPECT_EQ(dominant_share({whole_gpus(1), CpuMilli{5'000}, Bytes{1LL << 30}}, fresh, whole),
              kShareWhole / 10);
    EXPECT_EQ(dominant_share({whole_gpus(1), CpuMilli{50'000}, {}}, fresh, whole), kShareWhole / 2);
    EXPECT_EQ(dominant_share({{}, {}, Bytes{25LL << 30}}, fresh, whole), kShareWhole / 4);
    EXPECT_EQ(dominant_share({whole_gpus(1), {}, {}}, fresh, {}), 0) << "of nothing";
    Usage used;
    used.mean[0] = 2'000 * kUsageUnit;
    EXPECT_EQ(dominant_share({whole_gpus(1), {}, {}}, used, whole), 3 * kShareWhole / 10);
}

}  // namespace
}  // namespace gpuctl::test
