#pragma once
// The control loop: mailbox -> journal -> engine -> effects, one turn at a time.
//
//   offer() ──> mailbox (bounded) ──> turn: append batch, flush ─> step each ─> Plan while wanted,
//                  ^                          flush ─> effects ─> ports::Cluster
//                  └────────────────────────── outcomes as events ───────┘
//
// A turn drains at most batch_max events, fewer where they take longer than batch_time, and plans
// at most plans_per_turn_max times, then lets sockets and timers run. No effect leaves before
// the inputs behind it were written (flush: they survive kill -9); a submit is answered only after
// they are on disk (sync). While a full segment of the journal is sealed and the next one begun, on
// the pool, there is no turn: events wait in the mailbox.
//
// Long queries run on a second engine on another thread (replica.hpp): query(). It writes the
// journal's snapshots, too.
//
// When a write or sync fails the journal is broken for good: the state freezes, further events are
// accepted and dropped (only a restart helps, after which the adapter reports everything again),
// submits are refused, reads continue.
//
// Thread: the loop's. Lifecycle: start(), ..., stop_intake(), drain(), stop(). Cancellation:
// waiting submits are answered with ShuttingDown by stop().

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "daemon/core/history.hpp"
#include "daemon/core/log_observer.hpp"
#include "daemon/core/metrics_observer.hpp"
#include "daemon/core/reconcile.hpp"
#include "daemon/core/replica.hpp"
#include "daemon/journal/journal.hpp"
#include "metrics/recorder.hpp"
#include "ports/cluster.hpp"
#include "ports/engine_observer.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/engine/engine.hpp"

namespace gpuctl::core {

struct EngineLoopSettings {
    std::size_t queue_max = 65'536;
    std::size_t batch_max = 1'024;
    std::chrono::microseconds batch_time{4'000};
    std::size_t plans_per_turn_max = 16;
    std::chrono::microseconds plan_time{5'000};  // of a turn; what is left waits for the next one
    std::uint64_t snapshot_every_inputs = 100'000;
    std::uint64_t seed = 0;  // base of the seeds given to the engine
    bool wait_for_workload =
        false;  // Kubernetes: acknowledge a submit after the API server has it too
    bool adapter_lists_all =
        false;  // Kubernetes: an object not reported before CacheSynced is gone
    ReplicaSettings replica;
};

class EngineLoop final : public ports::EventSink {
public:
    // `journal` and `recorder` outlive this.
    EngineLoop(aio::Loop& loop, journal::Journal& journal, Engine engine, Sequence next,
               EngineLoopSettings settings, metrics::Recorder& recorder);
    ~EngineLoop() override;

    // Adds an observer, called after metrics, log and history; it outlives this.
    void observe(ports::EngineObserver& observer) { observers_.push_back(&observer); }

    // Starts accepting events. Effects go to `cluster`, which outlives this.
    void start(ports::Cluster& cluster);

    [[nodiscard]] bool offer(Event event) override;

    // Answered once the job is on disk (and, with wait_for_workload, exists in the cluster).
    // Errors: JobExists (accepted and not yet visible), NotLeader, ClusterUnavailable,
    // TooManyRequests, JournalFailed, ShuttingDown, UnknownOutcome (stored, not confirmed in time).
    aio::Task<Result<void>> submit(JobRecord job, aio::Deadline deadline);
    // Answered once the request is on disk.
    aio::Task<Result<void>> remove(ObjectKey key, bool force, aio::Deadline deadline);
    // Answered once the change is on disk and carried out in the cluster, or refused by it. Errors:
    // those of submit(), and JobNotFound, Conflict, ImmutableField.
    aio::Task<Result<void>> change(JobUpdated change, aio::Deadline deadline);
    // Answered once the change is on disk and the cluster has carried it out, and the state shows
    // it; or once it was refused. Errors: those of submit(), and NodeNotFound, LabelConflict,
    // Conflict, ValidationFailed, Forbidden.
    aio::Task<Result<void>> change_node(NodeChange change, aio::Deadline deadline);
    void change_policy(Policy policy);
    // Both, in this order; answered once they are on disk. `what`: for the error of a late answer.
    aio::Task<Result<void>> change_objects(Policy policy, PolicyObjectsChanged objects,
                                           std::string what, aio::Deadline deadline);

    // Runs `work` on another thread, with an engine that took the same inputs: the answer is about
    // the current state, including everything that was submitted and acknowledged. Errors as
    // Replica::query().
    template <typename T>
    aio::Task<Result<QueryResult<T>>> query(std::function<T(const Engine& engine)> work,
                                            aio::Deadline deadline);

    void stop_intake() { intake_stopped_ = true; }
    // True when the mailbox ran empty and every submit was answered in time.
    aio::Task<bool> drain(aio::Deadline deadline);
    // Ends timers and answers the requests that still wait.
    aio::Task<bool> stop(aio::Deadline deadline);

    [[nodiscard]] const Engine& engine() const { return engine_; }
    // The time for readers: it advances although no input arrives.
    [[nodiscard]] const ClusterState& state() const;
    // The listing for readers, up to date; valid until the next turn. Readers of estimated starts
    // wait for their update, which takes turns of its own where it is long.
    [[nodiscard]] Listing& listing();
    // No reader has used the estimated starts for a while, and they are old; renewed_starts()
    // returns when they are up to date.
    [[nodiscard]] bool are_starts_old();
    aio::Task<void> renewed_starts(aio::Deadline deadline);
    // The engine took every input before this one.
    [[nodiscard]] Sequence taken_until() const { return taken_until_; }
    [[nodiscard]] const History& history() const { return history_; }
    void add_past(const History& past) { history_.add_past(past); }
    [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }
    [[nodiscard]] bool synced() const { return synced_; }
    [[nodiscard]] bool leading() const { return leading_; }
    [[nodiscard]] std::size_t mailbox_size() const { return mailbox_.size(); }
    // Why no job is accepted right now; nullopt: jobs are accepted.
    [[nodiscard]] std::optional<Error> refusal() const;
    // Notified after every turn that took an input.
    [[nodiscard]] aio::Signal& changed() { return changed_; }

private:
    struct Waiter;
    struct Item {
        Event event;
        std::shared_ptr<Waiter> waiter;  // of a submit or delete, else null
    };

    void schedule_turn();
    void reconcile(const Event& event);
    void turn();
    bool take_batch(std::vector<Input>& inputs, std::vector<std::shared_ptr<Waiter>>& waiters);
    void apply(const Input& input);
    void step(const Input& input);
    void plan();
    Input stamp(Event event);
    void track_input(const Event& event);
    template <typename... Parameters, typename... Arguments>
    void notify(void (ports::EngineObserver::*what)(Parameters...), const Arguments&... about) {
        for (ports::EngineObserver* observer : observers_) (observer->*what)(about...);
    }
    void dispatch_effects();
    void request_sync(std::vector<std::shared_ptr<Waiter>> waiters);
    void settle(const WorkloadOutcome& outcome);
    void check_change(const JobUpdated& change);
    void note_applied(const JobUpdated& change);
    void check_change(const NodeChangeRequested& change);
    void settle(const NodeChangeOutcome& outcome);
    void break_down(Error error);
    void tend_journal();
    void rolled(const Result<void>& done, bool snapshot_due);
    void begin_snapshot();
    void rescue_journal();
    void feed_replica();
    [[nodiscard]] std::size_t batch_size() const;
    void update_input_cost(std::size_t inputs, aio::Clock::duration took);
    aio::Task<Result<void>> ask_replica(Replica::Work work, aio::Deadline deadline);
    [[nodiscard]] std::uint64_t tried() const;
    aio::Task<Result<void>> enqueue(Item item, aio::Deadline deadline);
    void work_for_readers();
    aio::Task<void> run_timer();
    aio::Task<void> measure_lag();

    aio::Loop& loop_;
    journal::Journal& journal_;
    Engine engine_;
    EngineLoopSettings settings_;
    MetricsObserver metrics_;
    LogObserver log_;
    History history_;
    std::vector<ports::EngineObserver*> observers_{&metrics_, &log_, &history_};
    ports::Cluster* cluster_ = nullptr;
    aio::TaskGroup tasks_;
    aio::Signal changed_;
    aio::Signal wake_changed_;
    aio::Signal readers_served_;
    bool works_for_readers_ = false;  // a turn for readers is scheduled
    Replica replica_;

    std::deque<Item> mailbox_;
    bool turn_scheduled_ = false;
    bool in_turn_ = false;
    EffectList effects_;
    std::vector<Input> taken_;            // in this turn, if a replica must take them too
    std::uint64_t journaled_before_ = 0;  // bytes, at the last turn
    std::int64_t input_cost_ns_ = 4'000;  // recent cost of journaling and applying one input
    std::set<ObjectKey> arriving_;        // submits in the mailbox: not yet visible in the state
    std::unordered_map<std::string, std::shared_ptr<Waiter>> awaiting_workload_;
    std::map<ObjectKey, std::shared_ptr<Waiter>> changing_;  // changes in the mailbox
    // By request: effects of jobs and of nodes may have had the same ids, in other terms.
    std::unordered_map<std::string, std::shared_ptr<Waiter>> changing_nodes_;
    std::size_t waiters_open_ = 0;

    std::optional<Reconciler> reconciler_;  // until CacheSynced, when the adapter lists everything
    std::uint64_t next_sequence_;           // of the next input to journal
    Sequence taken_until_;                  // the engine took every input before it
    std::uint64_t inputs_since_snapshot_ = 0;
    bool rolling_ = false;     // the journal rolls: no turn until it has a new segment
    bool compacting_ = false;  // a snapshot is being made
    bool rescue_due_ = false;
    aio::Signal rolled_;
    std::optional<aio::Clock::time_point> rescued_at_;
    std::int64_t now_ms_ = 0;
    Rng seeds_;
    std::optional<Instant> wake_at_;
    std::optional<Error> broken_;
    bool synced_ = false;
    bool leading_ = false;
    bool intake_stopped_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // guards late sync callbacks
};

template <typename T>
aio::Task<Result<QueryResult<T>>> EngineLoop::query(std::function<T(const Engine& engine)> work,
                                                    aio::Deadline deadline) {
    // Shared with the worker, which may finish after the deadline.
    const auto value = std::make_shared<std::optional<T>>();
    const Sequence next = taken_until_;
    Replica::Work store_result = [value, work = std::move(work)](const Engine& engine) {
        value->emplace(work(engine));
    };
    Result<void> answered = co_await ask_replica(std::move(store_result), deadline);
    if (!answered) co_return answered.error();
    co_return QueryResult<T>{std::move(**value), next};
}

}  // namespace gpuctl::core
