#include "aio/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "aio/signal.hpp"
#include "unit/aio/run_on_loop.hpp"

namespace gpuctl::aio {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Loop, posted_work_runs_on_the_loop_thread_from_any_thread) {
    Loop loop;
    std::atomic<int> on_loop{0};
    EXPECT_FALSE(loop.on_loop_thread());
    std::thread other{[&] {
        for (int i = 0; i < 100; ++i) {
            loop.post([&] { on_loop += loop.on_loop_thread() ? 1 : 0; });
        }
        loop.post([&] { loop.stop(); });
    }};
    loop.run();
    other.join();
    EXPECT_EQ(on_loop, 100);
}

Task<void> offload_body(Loop& loop) {
    const std::thread::id loop_thread = std::this_thread::get_id();
    const std::thread::id worker =
        co_await offload<std::thread::id>(loop, [] { return std::this_thread::get_id(); });
    EXPECT_NE(worker, loop_thread);
    EXPECT_EQ(std::this_thread::get_id(), loop_thread);

    bool caught = false;
    try {
        co_await offload<void>(loop, [] { throw std::runtime_error("seeded"); });
    } catch (const std::runtime_error&) {
        caught = true;
    }
    EXPECT_TRUE(caught);
}

TEST(Loop, offloaded_work_runs_elsewhere_and_its_result_or_exception_comes_back) {
    Loop loop;
    run_to_end(loop, offload_body(loop));
}

Task<void> sleep_body() {
    const auto at = Deadline::in(milliseconds(5));
    const bool slept = co_await sleep_until(at);
    EXPECT_TRUE(slept);
    EXPECT_TRUE(at.passed());
    const bool past = co_await sleep_until(Deadline::in(seconds(-5)));
    EXPECT_TRUE(past) << "a deadline in the past is not a cancellation";
}

TEST(Loop, sleep_until_ends_at_its_deadline) {
    Loop loop;
    run_to_end(loop, sleep_body());
}

Task<void> wait_for(Signal& signal, int& woken) {
    const bool notified = co_await signal.wait(Deadline::in(hours(1)));
    woken += notified ? 1 : 0;
}

Task<void> signal_body(Loop& loop) {
    Signal signal{loop};
    signal.notify_all();  // no waiter: not remembered
    const bool early = co_await signal.wait(Deadline::in(milliseconds(5)));
    EXPECT_FALSE(early);

    TaskGroup group{loop};
    int woken = 0;
    for (int i = 0; i < 5; ++i) group.spawn("waiter", wait_for(signal, woken));
    co_await sleep_until(Deadline::in(milliseconds(1)));
    signal.notify_all();
    const bool joined = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(joined);
    EXPECT_EQ(woken, 5);
}

TEST(Signal, wakes_all_waiters_and_keeps_no_state) {
    Loop loop;
    run_to_end(loop, signal_body(loop));
}

Task<void> wait_and_count_failures(Signal& signal, int& failures) {
    const bool notified = co_await signal.wait(Deadline::in(hours(1)));
    failures += notified ? 0 : 1;
}

Task<void> signal_destroyed_body(Loop& loop) {
    auto signal = std::make_unique<Signal>(loop);
    TaskGroup group{loop};
    int failures = 0;
    group.spawn("waiter", wait_and_count_failures(*signal, failures));
    co_await sleep_until(Deadline::in(milliseconds(1)));
    signal.reset();
    const bool joined = co_await group.join(Deadline::in(seconds(30)));
    EXPECT_TRUE(joined);
    EXPECT_EQ(failures, 1);
}

TEST(Signal, destroying_it_ends_the_waits) {
    Loop loop;
    run_to_end(loop, signal_destroyed_body(loop));
}

}  // namespace
}  // namespace gpuctl::aio
