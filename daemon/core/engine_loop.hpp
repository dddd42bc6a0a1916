#pragma once
// Where everything meets: mailbox -> journal -> engine -> effects, one turn at a time.
//
//   offer() ──> mailbox (bounded) ──> turn: append batch, flush ─> step each ─> Plan while wanted,
//                  ^                          flush ─> effects ─> ports::Cluster
//                  └────────────────────────── outcomes as events ───────┘
//
// A turn drains at most batch_max events and plans at most plans_per_turn_max times, then gives
// sockets and timers their go. No effect leaves before the inputs behind it were written (flush:
// they survive kill -9); a submit is answered only after they are on disk (sync).
//
// When a write or sync fails the journal is broken for good: the state freezes, further events are
// taken and dropped (only a restart helps, and then the adapter tells everything anew), submits are
// refused, reads go on.
//
// Thread: the loop's. Lifecycle: start(), ..., stop_intake(), drain(), stop(). Cancellation:
// waiting submits are answered with ShuttingDown by stop().

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/aio/loop.hpp"
#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "daemon/core/dispatcher.hpp"
#include "daemon/core/history.hpp"
#include "daemon/core/reconcile.hpp"
#include "daemon/journal/journal.hpp"
#include "daemon/ports/cluster.hpp"
#include "metrics/recorder.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/engine/engine.hpp"

namespace gpuctl::core {

struct EngineLoopSettings {
    std::size_t queue_max = 65'536;
    std::size_t batch_max = 1'024;
    std::size_t plans_per_turn_max = 16;
    std::uint64_t snapshot_every_inputs = 100'000;
    std::uint64_t seed = 0;          // of the seeds handed to the engine
    bool wait_for_workload = false;  // Kubernetes: a submit is answered after the API server too
    bool adapter_lists_all = false;  // Kubernetes: what is not told before CacheSynced is gone
};

class EngineLoop final : public ports::EventSink {
public:
    // `journal` and `recorder` outlive this.
    EngineLoop(aio::Loop& loop, journal::Journal& journal, Engine engine, Sequence next,
               EngineLoopSettings settings, metrics::Recorder& recorder);
    ~EngineLoop() override;

    // Events may come from now on. Effects go to `cluster`, which outlives this.
    void start(ports::Cluster& cluster);

    [[nodiscard]] bool offer(Event event) override;

    // Answered once the job is on disk (and, with wait_for_workload, exists in the cluster).
    // Errors: JobExists (accepted and not yet visible), NotLeader, ClusterUnavailable,
    // TooManyRequests, JournalFailed, ShuttingDown, UnknownOutcome (stored, not confirmed in time).
    aio::Task<Result<void>> submit(JobRecord job, aio::Deadline deadline);
    // Answered once the wish is on disk.
    aio::Task<Result<void>> remove(ObjectKey key, bool force, aio::Deadline deadline);
    void change_policy(Policy policy);

    void stop_intake() { intake_stopped_ = true; }
    // True when the mailbox ran empty and every submit was answered in time.
    aio::Task<bool> drain(aio::Deadline deadline);
    // Ends timers and answers who still waits.
    aio::Task<bool> stop(aio::Deadline deadline);

    [[nodiscard]] const Engine& engine() const { return engine_; }
    // For whoever looks now: what has waited goes on waiting while nothing happens.
    [[nodiscard]] const ClusterState& state() const;
    [[nodiscard]] const History& history() const { return history_; }
    [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }
    [[nodiscard]] bool synced() const { return synced_; }
    [[nodiscard]] bool leading() const { return leading_; }
    [[nodiscard]] std::size_t mailbox_size() const { return mailbox_.size(); }
    // Why no job is taken right now; nothing: jobs are taken.
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
    void plan();
    Input stamp(Event event);
    void remember(const Event& event);
    void dispatch_effects();
    void request_sync(std::vector<std::shared_ptr<Waiter>> waiters);
    void settle(const WorkloadOutcome& outcome);
    void break_down(Error error);
    void snapshot_if_due();
    [[nodiscard]] std::uint64_t tried() const;
    aio::Task<Result<void>> enqueue(Item item, aio::Deadline deadline);
    aio::Task<void> run_timer();
    aio::Task<void> measure_lag();

    aio::Loop& loop_;
    journal::Journal& journal_;
    Engine engine_;
    EngineLoopSettings settings_;
    metrics::Recorder& recorder_;
    Dispatcher dispatcher_;
    History history_;
    aio::TaskGroup tasks_;
    aio::Signal changed_;
    aio::Signal wake_changed_;

    std::deque<Item> mailbox_;
    bool turn_scheduled_ = false;
    bool in_turn_ = false;
    EffectList effects_;
    std::set<ObjectKey> arriving_;  // submits in the mailbox: not yet visible in the state
    std::unordered_map<std::string, std::shared_ptr<Waiter>> awaiting_workload_;
    std::size_t waiters_open_ = 0;

    std::optional<Reconciler> reconciler_;  // until CacheSynced, when the adapter lists all
    std::uint64_t next_sequence_;
    std::uint64_t inputs_since_snapshot_ = 0;
    std::int64_t now_ms_ = 0;
    Rng seeds_;
    std::optional<Instant> wake_at_;
    std::optional<Error> broken_;
    bool synced_ = false;
    bool leading_ = false;
    bool intake_stopped_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // guards late sync callbacks

    std::vector<metrics::Counter*> inputs_by_kind_;
    metrics::Histogram& journal_time_;
    metrics::Histogram& apply_time_;
    metrics::Histogram& plan_time_;
};

}  // namespace gpuctl::core
