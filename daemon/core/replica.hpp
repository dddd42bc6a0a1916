#pragma once
// A second engine that takes the same inputs as the loop's, on a thread of its own: it answers long
// queries on the state and makes the journal's snapshots, while the loop continues (docs/adr/0032).
//
//   loop:    turn ─> feed() ─┐               query() ─────────────> answer
//                            │ a post each      │ a post           ^ a post
//   worker:  [build] ─> take inputs ─> take ─> question ───────────┘ ─> compact ─> ...
//
// Everything goes to the worker by post, in order; so a query sees every input that the loop had
// taken when it was sent, and none after it.
//
// Lifecycle: the engine exists while there are queries, some minutes longer, and while the journal
// is compacted. It is built from the journal's files, or copied if the state is small. Any failure
// ends it, and the next query builds another one. Bounds: waiting inputs (by bytes), waiting
// queries, one engine at a time.
//
// Thread: the loop's. Owner: the EngineLoop. Cancellation: stop() ends the worker's task between
// two inputs; queries without an answer get ShuttingDown.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "aio/worker.hpp"
#include "daemon/journal/journal.hpp"
#include "metrics/recorder.hpp"
#include "scheduler/engine/engine.hpp"

namespace gpuctl::core {

struct ReplicaSettings {
    std::chrono::milliseconds kept_unasked{300'000};
    std::chrono::milliseconds pause_after_failure{10'000};
    std::size_t waiting_bytes_max = 64u << 20;  // of inputs, as journaled
    std::size_t questions_max = 64;
    // Jobs, pods and nodes of a state that is copied on the loop, in a millisecond or two. A larger
    // state is built from the journal's files.
    std::size_t copied_at_once_max = 500;
};

// An answer, and the state it is about: after every input before `next`.
template <typename T>
struct QueryResult {
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

    // Whether inputs must be fed.
    [[nodiscard]] bool is_there() const { return copy_ != nullptr; }
    // The inputs that the loop's engine took in a turn, in order; `bytes` of them were journaled.
    void feed(std::vector<Input> inputs, std::uint64_t bytes);

    // Runs `work` on the worker with an engine that took every input before `next`, as `original`
    // did. Errors: TooManyRequests, Timeout, ShuttingDown; JournalDamaged and JournalFailed where
    // the state cannot be copied. After its deadline the caller does not wait for the work any
    // more, which may still run.
    using Work = std::function<void(const Engine& engine)>;
    aio::Task<Result<void>> query(const Engine& original, Sequence next, Work work,
                                  aio::Deadline deadline);

    // Writes the journal's snapshot before input `next`, with which a segment has just begun.
    // `done` is called on the loop. JournalDamaged: the files do not give the state in memory.
    void compact(const Engine& original, Sequence next, std::function<void(Result<void>)> done);

    // Called on the loop when the journal's files do not give the state.
    void on_damage(std::function<void()> hook) { on_damage_ = std::move(hook); }
    // The files end before the state in memory: only a small state can be copied from now on.
    void journal_broke(const Error& why) { broken_ = why; }

    // True when the worker ended in time.
    aio::Task<bool> stop(aio::Deadline deadline);

private:
    struct Copy;
    struct Question;

    Result<void> begin_copy(const Engine& original, Sequence next);
    void hand_over();
    enum class Hurry : bool { no, yes };
    void end_copy(Hurry hurry);
    void record_build(const std::shared_ptr<Copy>& copy, const Result<void>& built, bool from_files,
                      aio::Clock::duration took);
    void copy_failed(const std::shared_ptr<Copy>& copy, const Error& error);
    void end_if_idle();
    aio::Task<void> watch_for_idleness();
    void post_back(std::function<void()> work);

    aio::Loop& loop_;
    journal::JournalPlace place_;
    ReplicaSettings settings_;
    metrics::Recorder& recorder_;
    std::unique_ptr<aio::Worker> worker_;
    std::shared_ptr<Copy> copy_;
    std::function<void()> on_damage_;
    std::optional<Error> broken_;

    std::vector<std::shared_ptr<const std::vector<Input>>> backlog_;  // not given to the worker yet
    std::size_t backlog_inputs_ = 0;
    std::uint64_t backlog_bytes_ = 0;
    std::size_t questions_open_ = 0;
    std::size_t compactions_open_ = 0;
    std::optional<aio::Clock::time_point> last_query_at_;
    std::optional<Error> failure_;  // of the last engine
    aio::Clock::time_point build_again_at_;
    bool stopped_ = false;
    aio::Signal ended_;
    aio::TaskGroup tasks_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // guards what the worker posts
};

}  // namespace gpuctl::core
