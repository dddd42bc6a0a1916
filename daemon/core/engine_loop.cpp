#include "daemon/core/engine_loop.hpp"

#include <chrono>
#include <utility>

#include "daemon/core/engine_waiter.hpp"
#include "daemon/diagnostics/log.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/base/rng.hpp"

namespace gpuctl::core {
namespace {

using Observer = ports::EngineObserver;
using Phase = ports::EnginePhase;

constexpr std::chrono::milliseconds kLagProbePeriod{250};
// The limit of jobs that changed since the listing was last updated; beyond it the loop updates the
// listing itself instead of leaving the cost to the next reader.
constexpr std::size_t kListingBehindMax = 512;

}  // namespace

EngineLoop::EngineLoop(aio::Loop& loop, journal::Journal& journal, Engine engine, Sequence next,
                       EngineLoopSettings settings, metrics::Recorder& recorder)
    : loop_(loop),
      journal_(journal),
      engine_(std::move(engine)),
      settings_(settings),
      metrics_(recorder),
      tasks_(loop),
      changed_(loop),
      wake_changed_(loop),
      readers_served_(loop),
      replica_(loop, journal.place(), settings.replica, recorder),
      next_sequence_(static_cast<std::uint64_t>(next)),
      taken_until_(next),
      rolled_(loop),
      seeds_(settings.seed) {
    replica_.on_damage([this] {
        rescue_due_ = true;
        schedule_turn();
    });
}

EngineLoop::~EngineLoop() { *alive_ = false; }

void EngineLoop::start(ports::Cluster& cluster) {
    (void)engine_.listing();  // all of it now, so not in the turn of the first reader
    cluster_ = &cluster;
    if (settings_.adapter_lists_all) reconciler_.emplace();
    // The replayed state may still be leading; no bind is sent before the adapter reports
    // leadership again.
    if (state().session.leading()) {
        mailbox_.push_back({LeadershipChanged{false, state().session.epoch()}, nullptr});
        schedule_turn();
    }
    tasks_.spawn("engine timer", run_timer());
    tasks_.spawn("loop lag probe", measure_lag());
}

bool EngineLoop::offer(Event event) {
    if (broken_) return true;  // accepted and dropped, see the header
    if (mailbox_.size() >= settings_.queue_max) {
        notify(&Observer::on_turned_away);
        return false;
    }
    if (reconciler_) reconcile(event);
    mailbox_.push_back({std::move(event), nullptr});
    schedule_turn();
    return true;
}

// May exceed the mailbox's bound by the vanished objects: once, and by no more than the state
// holds.
void EngineLoop::reconcile(const Event& event) {
    reconciler_->record(event);
    if (!std::holds_alternative<CacheSynced>(event)) return;
    std::vector<Event> vanished = reconciler_->vanished(state());
    if (!vanished.empty()) {
        log::info("objects vanished while gpuctld was down", {{"count", vanished.size()}});
    }
    for (Event& gone : vanished) mailbox_.push_back({std::move(gone), nullptr});
    reconciler_.reset();
}

void EngineLoop::schedule_turn() {
    if (turn_scheduled_ || in_turn_ || rolling_) return;  // rolled() schedules one
    turn_scheduled_ = true;
    loop_.post([this, alive = alive_] {
        if (*alive) turn();
    });
}

Input EngineLoop::stamp(Event event) {
    now_ms_ = std::max(now_ms_, aio::Loop::wall_ms());
    return Input{Sequence{next_sequence_++}, Instant{now_ms_}, seeds_.next(), std::move(event)};
}

const ClusterState& EngineLoop::state() const {
    engine_.state().session.look(Instant{std::max(now_ms_, aio::Loop::wall_ms())});
    return engine_.state();
}

void EngineLoop::turn() {
    turn_scheduled_ = false;
    if (broken_ || rolling_) return;
    in_turn_ = true;
    aio::Turn::mark("inputs");
    const std::uint64_t tried_before = tried();
    const bool drained_any = !mailbox_.empty();
    std::vector<Input> inputs;
    std::vector<std::shared_ptr<Waiter>> waiters;
    const auto began = aio::Clock::now();
    if (!drained_any || take_batch(inputs, waiters)) {
        const auto started = aio::Clock::now();
        for (const Input& input : inputs) apply(input);
        if (drained_any) {
            notify(&Observer::on_phase, Phase::apply, inputs.size(), aio::Clock::now() - started);
            update_input_cost(inputs.size(), aio::Clock::now() - began);
        }
        taken_ = std::move(inputs);
        plan();
    }
    feed_replica();
    if (!broken_) {
        if (!waiters.empty()) request_sync(std::exchange(waiters, {}));
        dispatch_effects();
        tend_journal();
    }
    in_turn_ = false;
    engine_.tend_listing(kListingBehindMax);
    changed_.notify_all();
    if (broken_) {
        // Planning broke it after their inputs were applied: only these references are left.
        for (const auto& waiter : waiters) waiter->answer(*broken_);
        return;
    }
    // Wanting to plan only counts while planning tries something, so that a bug in wants_plan()
    // cannot spin the loop.
    if (!mailbox_.empty() || (engine_.wants_plan() && tried() != tried_before)) schedule_turn();
}

// The longest batch that is expected to take no longer than batch_time. One unusually slow input, a
// new policy for example, loses its influence within a few turns.
std::size_t EngineLoop::batch_size() const {
    constexpr std::int64_t kLeast = 16;
    const std::int64_t in_time = std::chrono::nanoseconds{settings_.batch_time}.count() /
                                 std::max<std::int64_t>(input_cost_ns_, 1);
    const auto most = static_cast<std::size_t>(std::max(in_time, kLeast));
    return std::min({mailbox_.size(), settings_.batch_max, most});
}

void EngineLoop::update_input_cost(std::size_t inputs, aio::Clock::duration took) {
    const std::int64_t cost = std::chrono::nanoseconds{took}.count() /
                              std::max<std::int64_t>(static_cast<std::int64_t>(inputs), 1);
    input_cost_ns_ += (cost - input_cost_ns_) / 4;
}

void EngineLoop::feed_replica() {
    const std::uint64_t journaled = journal_.figures().bytes;
    if (replica_.is_there()) replica_.feed(std::move(taken_), journaled - journaled_before_);
    journaled_before_ = journaled;
    taken_.clear();
}

std::uint64_t EngineLoop::tried() const {
    const EngineFigures& figures = engine_.figures();
    return figures.attempts + figures.placements + figures.skipped_by_negative_cache;
}

// Journals the next events; false when the journal broke (and every waiter got its error).
bool EngineLoop::take_batch(std::vector<Input>& inputs,
                            std::vector<std::shared_ptr<Waiter>>& waiters) {
    const auto started = aio::Clock::now();
    const std::size_t count = batch_size();
    inputs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        Item item = std::move(mailbox_.front());
        mailbox_.pop_front();
        if (item.waiter) waiters.push_back(std::move(item.waiter));
        inputs.push_back(stamp(std::move(item.event)));
        if (Result<void> appended = journal_.append(inputs.back()); !appended) {
            for (const auto& waiter : waiters) waiter->answer(appended.error());
            break_down(appended.error());
            return false;
        }
    }
    Result<void> flushed = journal_.flush();
    notify(&Observer::on_phase, Phase::journal, count, aio::Clock::now() - started);
    if (flushed) return true;
    for (const auto& waiter : waiters) waiter->answer(flushed.error());
    break_down(flushed.error());
    return false;
}

void EngineLoop::apply(const Input& input) {
    track_input(input.event);
    step(input);
    if (const auto* change = std::get_if<JobUpdated>(&input.event)) note_applied(*change);
}

void EngineLoop::step(const Input& input) {
    notify(&Observer::on_input, input);
    engine_.step(input, effects_);
    taken_until_ = Sequence{static_cast<std::uint64_t>(input.sequence) + 1};
    ++inputs_since_snapshot_;
}

// The loop's own state that depends on an input.
void EngineLoop::track_input(const Event& event) {
    if (std::holds_alternative<CacheSynced>(event)) {
        synced_ = true;
    } else if (const auto* leadership = std::get_if<LeadershipChanged>(&event)) {
        leading_ = leadership->leading;
    } else if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
        arriving_.erase(submitted->job.spec.key);
    } else if (const auto* change = std::get_if<JobUpdated>(&event)) {
        check_change(*change);
    } else if (const auto* node = std::get_if<NodeChangeRequested>(&event)) {
        check_change(*node);
    } else if (const auto* changed = std::get_if<NodeChangeOutcome>(&event)) {
        settle(*changed);
    } else if (const auto* outcome = std::get_if<WorkloadOutcome>(&event)) {
        settle(*outcome);
    }
}

// Plans while that makes progress, but returns to the sockets in between: the next turn continues
// the rest.
void EngineLoop::plan() {
    const auto started = aio::Clock::now();
    std::size_t plans = 0;
    while (plans < settings_.plans_per_turn_max && engine_.wants_plan()) {
        if (plans == 0) aio::Turn::mark("plan");
        if (plans > 0 && aio::Clock::now() - started > settings_.plan_time) break;
        Input input = stamp(Plan{});
        if (Result<void> appended = journal_.append(input); !appended) {
            return break_down(appended.error());
        }
        step(input);
        ++plans;
        taken_.push_back(std::move(input));
    }
    if (plans == 0) return;
    notify(&Observer::on_phase, Phase::plan, plans, aio::Clock::now() - started);
    if (Result<void> flushed = journal_.flush(); !flushed) break_down(flushed.error());
}

void EngineLoop::dispatch_effects() {
    for (const Effect& effect : effects_) {
        notify(&Observer::on_effect, effect, Instant{now_ms_});
        if (const auto* wake = std::get_if<WakeAt>(&effect)) {
            wake_at_ = wake->at;
            wake_changed_.notify_all();
            continue;
        }
        GPUCTL_CHECK(cluster_ != nullptr, "effects are sent only after start()");
        cluster_->carry_out(effect);
    }
    effects_.clear();
}

void EngineLoop::break_down(Error error) {
    if (broken_) return;
    notify(&Observer::on_broken, error);
    broken_ = make_error(
        ErrorCode::JournalFailed,
        "the journal cannot be written (" + error.message +
            "); no work is accepted until gpuctld is restarted with free space on its disk");
    replica_.journal_broke(*broken_);
    effects_.clear();
    for (const Item& item : mailbox_) {
        if (item.waiter) item.waiter->answer(*broken_);
    }
    mailbox_.clear();
    arriving_.clear();
    changing_.clear();
    for (const auto& [key, waiter] : awaiting_workload_) waiter->answer(*broken_);
    awaiting_workload_.clear();
    for (const auto& [request, waiter] : changing_nodes_) waiter->answer(*broken_);
    changing_nodes_.clear();
    changed_.notify_all();
}

// Rare and important enough to exceed the mailbox's bound by one.
void EngineLoop::change_policy(Policy policy) {
    if (broken_) return;
    mailbox_.push_back({PolicyChanged{std::move(policy)}, nullptr});
    schedule_turn();
}

aio::Task<bool> EngineLoop::drain(aio::Deadline deadline) {
    while (!mailbox_.empty() || waiters_open_ > 0) {
        if (deadline.passed()) co_return false;
        const aio::Deadline step =
            aio::Deadline::earlier(deadline, aio::Deadline::in(std::chrono::milliseconds{20}));
        co_await aio::sleep_until(step);
    }
    co_return true;
}

aio::Task<bool> EngineLoop::stop(aio::Deadline deadline) {
    intake_stopped_ = true;
    tasks_.cancel();
    wake_changed_.notify_all();
    const Error stopping = make_error(ErrorCode::ShuttingDown, "gpuctld is stopping");
    for (const Item& item : mailbox_) {
        if (item.waiter) item.waiter->answer(stopping);
    }
    mailbox_.clear();
    for (const auto& [key, waiter] : awaiting_workload_) waiter->answer(stopping);
    awaiting_workload_.clear();
    for (const auto& [request, waiter] : changing_nodes_) waiter->answer(stopping);
    changing_nodes_.clear();
    const bool joined = co_await tasks_.join(deadline);
    // The journal is closed next: no write may be in progress.
    const bool replica_ended = co_await replica_.stop(deadline);
    while (rolling_ && !deadline.passed()) co_await rolled_.wait(deadline);
    co_return joined&& replica_ended && !rolling_;
}

aio::Task<void> EngineLoop::run_timer() {
    constexpr std::chrono::hours kNothingToDo{1};
    while (!tasks_.cancelled()) {
        aio::Clock::duration left = kNothingToDo;
        if (wake_at_) {
            left = std::chrono::milliseconds{std::max<std::int64_t>(
                0, wake_at_->ms() - std::max(now_ms_, aio::Loop::wall_ms()))};
        }
        if (left > aio::Clock::duration::zero()) {
            const aio::Deadline deadline =
                aio::Deadline::in(std::min<aio::Clock::duration>(left, kNothingToDo));
            co_await wake_changed_.wait(deadline);
            continue;  // changed, due, or cancelled: check again
        }
        if (offer(WokeUp{})) {
            wake_at_.reset();
            continue;
        }
        const aio::Deadline full = aio::Deadline::in(std::chrono::milliseconds{50});
        co_await aio::sleep_until(full);
    }
}

aio::Task<void> EngineLoop::measure_lag() {
    while (!tasks_.cancelled()) {
        const aio::Deadline due = aio::Deadline::in(kLagProbePeriod);
        const bool slept = co_await aio::sleep_until(due);
        if (!slept) co_return;
        notify(&Observer::on_lag, aio::Clock::now() - due.at());
    }
}

}  // namespace gpuctl::core
