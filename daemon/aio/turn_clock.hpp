#pragma once
// Private to the loop: measures the turns that it runs. See turn.hpp.

#include <chrono>

#include "daemon/aio/turn.hpp"

namespace gpuctl::aio {

class TurnClock {
public:
    explicit TurnClock(TurnObserver observer);
    ~TurnClock();
    TurnClock(const TurnClock&) = delete;
    TurnClock& operator=(const TurnClock&) = delete;

    void begin();              // a turn begins now
    void begin_behind_wait();  // it begins when the wait ends, whenever that is
    void end();

private:
    TurnObserver observer_;
    std::chrono::nanoseconds cpu_at_wait_{};
};

}  // namespace gpuctl::aio
