#include "k8s/client/retry.hpp"

#include <gtest/gtest.h>

#include <set>

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, delays_double_up_to_the_cap_with_jitter_on_top) {
    Backoff backoff{{milliseconds{800}, milliseconds{30'000}, milliseconds{120'000}},
                    Backoff::Jitter::on_top,
                    1};
    const aio::Clock::time_point now{};
    std::int64_t base = 800;
    for (int i = 0; i < 10; ++i) {
        const auto delay = backoff.next(now).count();
        EXPECT_GE(delay, base);
        EXPECT_LE(delay, 2 * base);
        base = std::min<std::int64_t>(base * 2, 30'000);
    }
}

TEST(Backoff, two_healthy_minutes_start_it_over) {
    Backoff backoff{{}, Backoff::Jitter::on_top, 1};
    aio::Clock::time_point now{seconds{1'000}};
    for (int i = 0; i < 8; ++i) (void)backoff.next(now);
    EXPECT_GT(backoff.next(now + seconds{119}).count(), 10'000);
    EXPECT_LE(backoff.next(now + seconds{119 + 121}).count(), 1'600);
}

TEST(Backoff, waiters_with_different_seeds_do_not_return_together) {
    std::set<std::int64_t> delays;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Backoff backoff{{}, Backoff::Jitter::on_top, seed};
        delays.insert(backoff.next({}).count());
    }
    EXPECT_GT(delays.size(), 15u);
}

TEST(RetryBudget, retries_are_at_most_a_tenth_of_requests_once_the_reserve_is_spent) {
    RetryBudget budget{5};
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(budget.take_token());
    EXPECT_FALSE(budget.take_token());
    for (int i = 0; i < 9; ++i) budget.on_request();
    EXPECT_FALSE(budget.take_token());
    budget.on_request();
    EXPECT_TRUE(budget.take_token());
    EXPECT_FALSE(budget.take_token());
}

}  // namespace
}  // namespace gpuctl::k8s
