#include "aio/task_group.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>

#include "aio/signal.hpp"
#include "unit/aio/run_on_loop.hpp"

namespace gpuctl::aio {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Task<void> add_one(int& count) {
    ++count;
    co_return;
}

// Waits for the group's cancellation repeatedly: each wait after the first must return at once.
Task<void> wait_until_cancelled(int& rounds) {
    for (int i = 0; i < 3; ++i) {
        const bool slept = co_await sleep_until(Deadline::in(hours(1)));
        if (!slept) ++rounds;
    }
}

Task<void> wait_on(Signal& signal, int& notified, int& given_up) {
    const bool woken = co_await signal.wait(Deadline::in(hours(1)));
    ++(woken ? notified : given_up);
}

// Uncancellable on purpose: work on the pool is waited for.
Task<void> cling(Loop& loop, std::latch& release) {
    co_await offload<void>(loop, [&release] { release.wait(); });
}

Task<void> throw_up() {
    throw std::runtime_error("seeded");
    co_return;
}

Task<void> spawned_tasks_run_and_are_joined_body(Loop& loop) {
    TaskGroup group{loop};
    int count = 0;
    EXPECT_TRUE(group.spawn("one", add_one(count)));
    EXPECT_TRUE(group.spawn("two", add_one(count)));
    EXPECT_EQ(count, 0) << "spawn never runs the task inside its caller";
    const bool joined = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(joined);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, spawned_tasks_run_and_are_joined) {
    Loop loop;
    run_to_end(loop, spawned_tasks_run_and_are_joined_body(loop));
}

Task<void> cancel_ends_every_wait_body(Loop& loop) {
    TaskGroup group{loop};
    Signal signal{loop};
    int rounds = 0;
    int notified = 0;
    int given_up = 0;
    for (int i = 0; i < 100; ++i) {
        group.spawn("sleeper", wait_until_cancelled(rounds));
        group.spawn("waiter", wait_on(signal, notified, given_up));
    }
    co_await sleep_until(Deadline::in(milliseconds(1)));
    group.cancel();
    const bool joined = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(joined);
    EXPECT_EQ(rounds, 300) << "a wait begun after the cancellation ends as well";
    EXPECT_EQ(notified, 0);
    EXPECT_EQ(given_up, 100);
}

TEST(TaskGroup, cancel_ends_every_wait_also_those_begun_afterwards) {
    Loop loop;
    run_to_end(loop, cancel_ends_every_wait_body(loop));
}

Task<void> nothing_starts_after_cancel_body(Loop& loop) {
    TaskGroup group{loop};
    int count = 0;
    group.spawn("queued", add_one(count));
    group.cancel();
    EXPECT_FALSE(group.spawn("late", add_one(count)));
    const bool joined = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(joined);
    EXPECT_EQ(count, 0);
}

TEST(TaskGroup, nothing_starts_after_cancel) {
    Loop loop;
    run_to_end(loop, nothing_starts_after_cancel_body(loop));
}

Task<void> join_gives_up_body(Loop& loop) {
    TaskGroup group{loop};
    std::latch release{1};
    group.spawn("clinging", cling(loop, release));
    co_await sleep_until(Deadline::in(milliseconds(1)));
    group.cancel();
    const bool joined = co_await group.join(Deadline::in(milliseconds(20)));
    EXPECT_FALSE(joined);
    const std::vector<std::string> left = group.left();
    EXPECT_EQ(left, std::vector<std::string>{"clinging"});
    release.count_down();
    const bool ended = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(ended);
}

TEST(TaskGroup, join_ends_at_its_deadline_and_names_the_remaining_tasks) {
    Loop loop;
    run_to_end(loop, join_gives_up_body(loop));
}

Task<void> cancel_one(TaskGroup& group) {
    group.cancel();
    co_return;
}

Task<void> task_cancels_its_group_body(Loop& loop) {
    TaskGroup group{loop};
    int rounds = 0;
    for (int i = 0; i < 10; ++i) group.spawn("sleeper", wait_until_cancelled(rounds));
    group.spawn("canceller", cancel_one(group));
    const bool joined = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(joined);
    EXPECT_EQ(rounds, 30);
}

TEST(TaskGroup, a_task_may_cancel_its_own_group) {
    Loop loop;
    run_to_end(loop, task_cancels_its_group_body(loop));
}

// The bug of Asio before 1.28.2 (asio #1332): the child ends while its cancellation is queued. Many
// groups, each cancelled in the same turn in which its tasks end by themselves.
Task<void> ends_at(Deadline at) { co_await sleep_until(at); }

Task<void> cancellation_races_with_the_end_body(Loop& loop) {
    for (int round = 0; round < 50; ++round) {
        TaskGroup group{loop};
        const auto at = Deadline::in(milliseconds(1));
        for (int i = 0; i < 50; ++i) group.spawn("short", ends_at(at));
        co_await sleep_until(at);
        group.cancel();
        const bool joined = co_await group.join(Deadline::in(seconds(30)));
        EXPECT_TRUE(joined);
    }
}

TEST(TaskGroup, cancellation_may_race_with_the_end_of_its_tasks) {
    Loop loop;
    run_to_end(loop, cancellation_races_with_the_end_body(loop));
}

TEST(TaskGroup, cancel_from_outside_the_loop_takes_effect_when_it_runs) {
    Loop loop;
    TaskGroup group{loop};
    int count = 0;
    group.spawn("one", add_one(count));
    group.cancel();
    loop.post([&loop] { loop.post([&loop] { loop.stop(); }); });
    loop.run();
    while (group.size() > 0) {
        loop.post([&loop] { loop.stop(); });
        loop.run();
    }
    EXPECT_EQ(count, 0);
}

TEST(TaskGroupDeathTest, an_exception_that_leaves_a_task_ends_the_process_and_names_it) {
    EXPECT_DEATH(
        {
            Loop loop;
            TaskGroup group{loop};
            group.spawn("seeded task", throw_up());
            loop.run();
        },
        "task 'seeded task' ended with an exception: seeded");
}

}  // namespace
}  // namespace gpuctl::aio
