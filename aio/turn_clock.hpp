#pragma once
// Private to the loop: measures the turns that it runs. See turn.hpp.

#include <chrono>

#include "aio/turn.hpp"

namespace gpuctl::aio {

class TurnClock {
public:
    explicit TurnClock(TurnObserver observer);
    ~TurnClock();
    TurnClock(const TurnClock&) = delete;
    TurnClock& operator=(const TurnClock&) = delete;

    void begin();              // the turn begins now
    void begin_behind_wait();  // the turn begins when the wait ends
    void end();

private:
    TurnObserver observer_;
    std::chrono::nanoseconds cpu_at_wait_{};
};

}  // namespace gpuctl::aio
