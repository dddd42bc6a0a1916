#pragma once
// Common parts of all feeds: the path to the engine, and counters.

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "aio/signal.hpp"
#include "aio/task.hpp"
#include "k8s/watch/informer.hpp"
#include "ports/event_sink.hpp"

namespace gpuctl::k8s {

// Events that no relist repeats (outcomes, leadership): stored here while the sink is full and
// offered again, in order.
class Outbox {
public:
    explicit Outbox(aio::Loop& loop) : added_(loop) {}

    void attach(ports::EventSink& sink) { sink_ = &sink; }
    void deliver(Event event);
    // False: full; the event is not stored.
    [[nodiscard]] bool offer(Event event);
    aio::Task<void> run();  // until cancelled
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    void flush();

    aio::Signal added_;
    ports::EventSink* sink_ = nullptr;
    std::deque<Event> waiting_;
    bool flushing_ = false;
};

// Counts complete lists, so that a caller can wait for the next one.
class Feed : public InformerHandler {
public:
    using OnSynced = std::function<void()>;

    Feed(Outbox& outbox, OnSynced on_synced) : outbox_(outbox), on_synced_(std::move(on_synced)) {}

    void on_synced() final {
        ++lists_;
        on_synced_();
    }
    [[nodiscard]] std::uint64_t lists() const { return lists_; }

    struct Figures {
        std::uint64_t reported = 0;
        std::uint64_t unchanged = 0;
        std::uint64_t unreadable = 0;
    };
    [[nodiscard]] const Figures& figures() const { return figures_; }

protected:
    Outbox& outbox_;
    Figures figures_;

private:
    OnSynced on_synced_;
    std::uint64_t lists_ = 0;
};

}  // namespace gpuctl::k8s
