#pragma once
// The one event-loop thread and a small pool for work that blocks (fdatasync, DNS, exec plugins).
// Owned by the composition root; outlives everything that runs on it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "aio/turn.hpp"

namespace gpuctl::aio {

class Loop {
public:
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // Runs on the calling thread until stop(); that thread is the loop thread from then on.
    void run();
    void stop();  // any thread

    // Called on the loop thread after each turn of run(). An empty function removes the observer.
    void observe_turns(TurnObserver observer);

    [[nodiscard]] boost::asio::io_context& context();
    [[nodiscard]] Executor executor();
    [[nodiscard]] bool on_loop_thread() const;

    void post(std::function<void()> work);     // any thread; runs on the loop thread
    void offload(std::function<void()> work);  // any thread; runs on the pool, may block

    // Wall clock, for display and for `now` of inputs: milliseconds since 1970 UTC.
    [[nodiscard]] static std::int64_t wall_ms();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Returns at `at`, or earlier with false when the surrounding TaskGroup is cancelled.
Task<bool> sleep_until(Deadline at);

// Resumes in a later turn, after the handlers that are ready now.
Task<void> next_turn();

// Runs `work` on the pool and resumes on the loop with its result.
template <typename T>
Task<T> offload(Loop& loop, std::function<T()> work);

}  // namespace gpuctl::aio

#include "aio/loop_offload.hpp"  // IWYU pragma: export
