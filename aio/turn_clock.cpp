#include "aio/turn_clock.hpp"

#include <time.h>

#include <utility>

namespace gpuctl::aio {
namespace {

struct UnderWay {
    std::string_view work = kUnmarkedWork;
    Clock::time_point begin;
    bool has_begun = false;  // false: the loop waits, or nothing is measured
    bool is_measured = false;
};

UnderWay& under_way() {
    thread_local UnderWay turn;
    return turn;
}

std::chrono::nanoseconds thread_cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace

void Turn::mark(std::string_view work) {
    UnderWay& turn = under_way();
    if (!turn.is_measured) return;
    turn.work = work;
    if (turn.has_begun) return;
    turn.has_begun = true;
    turn.begin = Clock::now();
}

std::string_view Turn::work() { return under_way().work; }

bool Turn::is_long() {
    UnderWay& turn = under_way();
    if (!turn.is_measured) return false;
    const Clock::time_point now = Clock::now();
    if (turn.has_begun) return now - turn.begin > kTurnTime;
    turn.has_begun = true;  // the wait has ended with this step
    turn.begin = now;
    return false;
}

TurnClock::TurnClock(TurnObserver observer) : observer_(std::move(observer)) {}

TurnClock::~TurnClock() { under_way() = {}; }

void TurnClock::begin() {
    UnderWay& turn = under_way();
    // The turn follows another one directly: it begins where that one ended.
    const Clock::time_point begin = turn.has_begun ? turn.begin : Clock::now();
    turn = {kUnmarkedWork, begin, true, true};
}

void TurnClock::begin_behind_wait() {
    under_way() = {kUnmarkedWork, {}, false, true};
    cpu_at_wait_ = thread_cpu_time();
}

void TurnClock::end() {
    UnderWay& turn = under_way();
    const Clock::time_point now = Clock::now();
    const Clock::duration took =
        turn.has_begun
            ? now - turn.begin
            : std::chrono::duration_cast<Clock::duration>(thread_cpu_time() - cpu_at_wait_);
    if (observer_) observer_(turn.work, took);
    turn = {kUnmarkedWork, now, true, true};
}

}  // namespace gpuctl::aio
