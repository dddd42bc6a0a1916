#pragma once
// The task of a writer that sends best-effort writes one at a time when each is due, and only while
// this daemon leads. The event recorder and the status writer derive from it: they decide when the
// next write is due and send it.

#include <optional>

#include "aio/deadline.hpp"
#include "aio/signal.hpp"
#include "aio/task.hpp"
#include "scheduler/base/ids.hpp"

namespace gpuctl::k8s {

class PacedWriter {
public:
    using Time = aio::Clock::time_point;

    explicit PacedWriter(aio::Loop& loop) : changed_(loop) {}
    virtual ~PacedWriter() = default;
    PacedWriter(const PacedWriter&) = delete;
    PacedWriter& operator=(const PacedWriter&) = delete;

    // Until cancelled; spawn it in a TaskGroup.
    aio::Task<void> run();
    // Writes carry the epoch of this term of leadership; nullopt: no writes.
    void lead(std::optional<Epoch> epoch);

protected:
    // next_at() may have become earlier.
    void wake() { changed_.notify_all(); }

private:
    // When write_next() may have a write to send; Time::max(): not before the next wake().
    [[nodiscard]] virtual Time next_at(Time now) const = 0;
    // Sends at most one write. Called when next_at() is not after `now`; it may find that no write
    // is due.
    virtual aio::Task<void> write_next(Time now, Epoch epoch) = 0;

    aio::Signal changed_;
    std::optional<Epoch> epoch_;
};

}  // namespace gpuctl::k8s
