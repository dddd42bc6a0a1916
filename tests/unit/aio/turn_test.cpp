// Durations of the loop's turns; and long work on another thread.

#include "aio/turn.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <map>
#include <string>
#include <thread>

#include "aio/worker.hpp"
#include "unit/aio/run_on_loop.hpp"

namespace gpuctl::aio {
namespace {

using std::chrono::milliseconds;

void spin(milliseconds span) {
    const Deadline end = Deadline::in(span);
    while (!end.passed()) {
    }
}

// Of the thread's own CPU time, however busy the machine is.
void burn(milliseconds span) {
    const auto used = [] {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
    };
    const auto end = used() + span;
    while (used() < end) {
    }
}

struct Turns {
    explicit Turns(Loop& loop) {
        loop.observe_turns([this](std::string_view work, Clock::duration took) {
            ++count[std::string{work}];
            longest[std::string{work}] = std::max(longest[std::string{work}], took);
        });
    }
    std::map<std::string, int> count;
    std::map<std::string, Clock::duration> longest;
};

TEST(Turn, is_measured_with_the_name_of_what_it_did_last) {
    Loop loop;
    Turns turns{loop};
    loop.post([] { Turn::mark("planning"), spin(milliseconds{6}); });
    loop.post([] { Turn::mark("reading"), Turn::mark("writing"); });
    loop.post([] {});
    loop.post([&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(turns.count["planning"], 1);
    EXPECT_GE(turns.longest["planning"], milliseconds{6});
    EXPECT_EQ(turns.count["writing"], 1);
    EXPECT_EQ(turns.count["reading"], 0);
    EXPECT_GE(turns.count["other"], 2);
}

// A turn with its name and one without, each behind a wait; how long they took.
Turns turns_behind_waits(milliseconds wait) {
    Loop loop;
    Turns turns{loop};
    std::thread other{[&] {
        std::this_thread::sleep_for(wait);
        loop.post([] { Turn::mark("short"); });
        std::this_thread::sleep_for(wait);
        loop.post([] { burn(milliseconds{2}); });
        std::this_thread::sleep_for(wait);
        loop.post([&] { loop.stop(); });
    }};
    loop.run();
    other.join();
    return turns;
}

// The machine may be busy and delay a turn by as much as a wait; not each time, with a wait that
// grows. If the wait were included, no turn would be shorter than it.
TEST(Turn, after_a_wait_is_measured_without_the_wait) {
    constexpr milliseconds kWaitMax{10'000};
    milliseconds wait{10};
    Turns turns = turns_behind_waits(wait);
    while (wait < kWaitMax && std::max(turns.longest["short"], turns.longest["other"]) >= wait) {
        wait *= 2;
        turns = turns_behind_waits(wait);
    }
    EXPECT_EQ(turns.count["short"], 1);
    EXPECT_LT(turns.longest["short"], wait);
    EXPECT_LT(turns.longest["other"], wait);
    EXPECT_GE(turns.longest["other"], milliseconds{1})
        << "what is not marked is measured in CPU time";
}

TEST(Turn, is_nothing_outside_of_a_loop) {
    Turn::mark("planning");
    EXPECT_EQ(Turn::work(), kUnmarkedWork);
}

Task<void> work_elsewhere(Loop& loop, Turns& turns) {
    Worker worker{"test worker"};
    Turn::mark("answering");
    const std::thread::id here = std::this_thread::get_id();
    std::function<bool()> is_elsewhere = [here] { return std::this_thread::get_id() != here; };
    const bool elsewhere = co_await run_on(worker, loop, std::move(is_elsewhere));
    EXPECT_TRUE(elsewhere);
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(Turn::work(), "answering") << "what comes of it belongs to what began it";
    EXPECT_EQ(turns.count["answering"], 1);
}

TEST(Worker, runs_work_on_its_own_thread_and_the_task_continues_with_its_name) {
    Loop loop;
    Turns turns{loop};
    run_to_end(loop, work_elsewhere(loop, turns));
}

TEST(Worker, runs_what_is_posted_in_order_and_all_of_it_before_it_ends) {
    std::vector<int> order;
    {
        Worker worker{"test worker"};
        for (int i = 0; i < 1'000; ++i) worker.post([&order, i] { order.push_back(i); });
    }
    ASSERT_EQ(order.size(), 1'000u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace gpuctl::aio
