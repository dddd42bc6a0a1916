#pragma once
// A second engine that takes the same inputs as the loop's, on a thread of its own: what is asked
// of the state and takes long is answered there, and snapshots of the journal are made there, while
// the loop goes on (docs/adr/0032).
//
//   loop:    turn ─> feed() ─┐               ask() ─────────────> answer
//                            │ a post each      │ a post           ^ a post
//   worker:  [build] ─> take inputs ─> take ─> question ───────────┘ ─> compact ─> ...
//
// Everything the loop hands over is a post to one worker, which runs in order; so a question finds
// every input that the loop had taken when it was asked, and none behind it.
//
// Lifecycle: there is an engine on the worker while it is asked and some minutes longer, and while
// the journal is compacted. It is made of the journal's files; of a small state at once. Whatever
// fails ends it, and the next question begins another one. Bounds: inputs that wait (by bytes),
// questions that wait, one engine at a time.
//
// Thread: the loop's. Owner: the EngineLoop. Cancellation: stop() ends what the worker is at
// between two inputs; what was asked and not answered by then gets ShuttingDown.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/aio/loop.hpp"
#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "daemon/aio/worker.hpp"
#include "daemon/journal/journal.hpp"
#include "metrics/recorder.hpp"
#include "scheduler/engine/engine.hpp"

namespace gpuctl::core {

struct ReplicaSettings {
    std::chrono::milliseconds kept_unasked{300'000};
    std::chrono::milliseconds pause_after_failure{10'000};
    std::size_t waiting_bytes_max = 64u << 20;  // of inputs, as journaled
    std::size_t questions_max = 64;
    // Jobs, pods and nodes that a state may have to be copied on the loop, in a millisecond or two.
    // What has more is made of the journal's files.
    std::size_t copied_at_once_max = 500;
};

// An answer, and the state that it is about: the one behind every input before `next`.
template <typename T>
struct Asked {
    T value;
    Sequence next{};
};

class Replica {
public:
    // `recorder` outlives this.
    Replica(aio::Loop& loop, journal::JournalPlace place, ReplicaSettings settings,
            metrics::Recorder& recorder);
    ~Replica();
    Replica(const Replica&) = delete;
    Replica& operator=(const Replica&) = delete;

    // Whether inputs are to be fed.
    [[nodiscard]] bool is_there() const { return life_ != nullptr; }
    // What the loop's engine took in a turn, in order; `bytes` of it were journaled.
    void feed(std::vector<Input> inputs, std::uint64_t bytes);

    // Runs `work` on the worker with an engine that took every input before `next`, as `original`
    // did. Errors: TooManyRequests, Timeout, ShuttingDown; JournalDamaged and JournalFailed where
    // the state cannot be copied. At its deadline nobody waits for the work any more, which may run
    // yet.
    using Work = std::function<void(const Engine& engine)>;
    aio::Task<Result<void>> ask(const Engine& original, Sequence next, Work work,
                                aio::Deadline deadline);

    // Writes the journal's snapshot before input `next`, with which a segment has just begun.
    // `done` is called on the loop. JournalDamaged: the files do not give what is in memory.
    void compact(const Engine& original, Sequence next, std::function<void(Result<void>)> done);

    // Called on the loop when the journal's files turn out not to give the state.
    void on_damage(std::function<void()> hook) { on_damage_ = std::move(hook); }
    // The files end before what is in memory: only a small state can be copied from now on.
    void journal_broke(const Error& why) { broken_ = why; }

    // True when the worker came to its end in time.
    aio::Task<bool> stop(aio::Deadline deadline);

private:
    struct Life;
    struct Question;

    Result<void> begin_life(const Engine& original, Sequence next);
    void hand_over();
    enum class Hurry : bool { no, yes };
    void end_life(Hurry hurry);
    void note_built(const std::shared_ptr<Life>& life, const Result<void>& built, bool from_files,
                    aio::Clock::duration took);
    void life_failed(const std::shared_ptr<Life>& life, const Error& error);
    void end_if_unasked();
    aio::Task<void> watch_for_idleness();
    void post_back(std::function<void()> work);

    aio::Loop& loop_;
    journal::JournalPlace place_;
    ReplicaSettings settings_;
    metrics::Recorder& recorder_;
    std::unique_ptr<aio::Worker> worker_;
    std::shared_ptr<Life> life_;
    std::function<void()> on_damage_;
    std::optional<Error> broken_;

    std::vector<std::shared_ptr<const std::vector<Input>>> backlog_;  // not handed over yet
    std::size_t backlog_inputs_ = 0;
    std::uint64_t backlog_bytes_ = 0;
    std::size_t questions_open_ = 0;
    std::size_t compactions_open_ = 0;
    std::optional<aio::Clock::time_point> asked_at_;
    std::optional<Error> failure_;  // of the last one
    aio::Clock::time_point build_again_at_;
    bool stopped_ = false;
    aio::Signal ended_;
    aio::TaskGroup tasks_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // guards what the worker posts
};

}  // namespace gpuctl::core
