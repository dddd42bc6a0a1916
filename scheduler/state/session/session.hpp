#pragma once
// Used by every part: time, leadership, policy, effect ids and timers.
//
// Owner, thread: ClusterState's.

#include <memory>
#include <memory_resource>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/accounts/budget_book.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class Session {
public:
    explicit Session(ClusterState& state) : state_(state) {}

    // A clock that is set back does not undo a deadline.
    void begin_input(Instant now) {
        now_ = std::max(now_, now);
        looked_at_ = {};
    }
    void set_idle(bool idle) { idle_ = idle; }
    // The next cycle may decide differently from the last one.
    void note_news() { idle_ = false; }
    void set_unfinished(bool unfinished) { unfinished_ = unfinished; }  // because tries ran out
    [[nodiscard]] bool is_unfinished() const { return unfinished_; }
    [[nodiscard]] EffectId effect_to_come() const { return EffectId{next_effect_}; }
    void request_wake(EffectList& effects,
                      bool again = false);  // again: the process that was asked may be gone
    // When users read the state, it is later than the last event; no decision depends on that.
    [[nodiscard]] Instant now() const { return std::max(now_, looked_at_); }
    void look(Instant now) const { looked_at_ = now; }
    [[nodiscard]] bool leading() const { return leading_; }
    [[nodiscard]] bool synced() const { return synced_; }
    [[nodiscard]] Epoch epoch() const { return epoch_; }
    [[nodiscard]] const Policy& policy() const { return policy_; }
    [[nodiscard]] bool wants_plan() const;
    [[nodiscard]] bool resend_due() const { return resend_due_; }
    void set_timer(JobId id);
    void ring_timers();
    EffectId next_effect() { return EffectId{next_effect_++}; }
    void note_synced() { synced_ = resend_due_ = true; }
    // True: a new term begins, and effects of an earlier term are to be sent again.
    bool note_leadership(bool leading, Epoch epoch);
    void note_resent() { resend_due_ = false; }
    void note_woken() { wake_requested_ = Instant{}; }
    void set_policy(Policy policy) { policy_ = std::move(policy); }
    void drop_timer(JobId id);  // of the job

    [[nodiscard]] Instant event_time() const { return now_; }
    [[nodiscard]] Instant looked_at() const { return looked_at_; }
    [[nodiscard]] bool idle() const { return idle_; }
    [[nodiscard]] Instant wake_requested() const { return wake_requested_; }

    // --- from an image ---
    void restore_time(Instant now, Key<StateReader>) { now_ = now; }
    void restore(const StateImage& image, Key<StateReader>);
    void restore_timer(JobId id, Key<StateReader>);

private:
    // One per job, at the earliest time at which something of it comes due.
    using Timers = std::pmr::set<std::tuple<Instant, std::uint64_t, JobId>>;

    ClusterState& state_;
    Instant now_;                // of the last event
    mutable Instant looked_at_;  // time of the last read since then
    bool leading_ = false;
    bool synced_ = false;
    bool resend_due_ = false;  // effects of an earlier term are to be sent again
    bool idle_ = true;         // the last Plan tried every job, and nothing has changed since
    bool unfinished_ = false;  // the last Plan ran out of tries
    Epoch epoch_{};
    std::uint64_t next_effect_ = 1;
    Policy policy_;
    // Timers change with every gang: their memory is reused.
    std::unique_ptr<std::pmr::unsynchronized_pool_resource> timer_memory_ =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
    Timers timers_{timer_memory_.get()};
    Instant wake_requested_;
};

}  // namespace gpuctl
