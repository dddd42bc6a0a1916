#pragma once
// SIGTERM, SIGINT and SIGHUP as calls on the loop thread. A separate thread waits for them, so that
// no handler interrupts other code.
//
// Construct before any other thread exists: those inherit the blocked signals.

#include <functional>
#include <thread>

#include "aio/loop.hpp"

namespace gpuctl::app {

class Signals {
public:
    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // `received` runs on the loop thread with the signal's number, until this is destroyed.
    void deliver_to(aio::Loop& loop, std::function<void(int)> received);

private:
    std::thread waiter_;
};

}  // namespace gpuctl::app
