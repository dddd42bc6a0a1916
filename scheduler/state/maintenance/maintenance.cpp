// Maintenance windows and unhealthy nodes: which nodes accept no jobs, which pods are evicted for
// that, and when to look again (docs/adr/0020-calendar.md).

#include <algorithm>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

constexpr WindowSet bit(std::size_t window) { return WindowSet{1} << window; }

// When pods with this grace period are evicted for an occurrence of the window.
Instant stops_at(const MaintenanceWindow& window, Occurrence next, Duration grace) {
    return Instant{next.begin.ms() - std::max(window.notice, grace).ms()};
}

std::size_t counted(const Policy& policy) {
    return std::min(policy.windows.size(), kWindowsMaximum);
}

}  // namespace

void Maintenance::take_windows() {
    forget_postponed_drains();
    for (std::uint32_t slot = 0; slot < state_.nodes.rows().size(); ++slot)
        place_in_windows(NodeId{slot});
    turn_calendar();
    state_.nodes.forget_eligibility();
}

void Maintenance::place_in_windows(NodeId id) {
    const NodeRow& row = state_.nodes.rows()[id.value()];
    WindowSet windows = 0;
    for (std::size_t i = 0; row.known && i < counted(state_.session.policy()); ++i) {
        if (covers(state_.session.policy().windows[i], row.facts)) windows |= bit(i);
    }
    const bool is_listed = windows != 0 || !row.facts.unhealthy.empty() || row.facts.draining;
    if (windows == 0 && row.windows == 0 && !is_listed && !calendar_.nodes.contains(id.value())) {
        return;
    }
    state_.nodes.rows().windows(id, {}) = windows;
    state_.jobs.note_change(id);
    if (is_listed) {
        calendar_.nodes.insert(id.value());
    } else {
        calendar_.nodes.erase(id.value());
    }
    calendar_.clock.drain_due = true;
    forget_postponed_drains();
    state_.nodes.note_eligibility_change(id);
    state_.tree.note_gain(row.pool);
    for (const PodId pod : row.pods) note_stop(id, state_.pods.rows()[pod.value()]);
}

// Windows begin and end. The calendar is a function of the policy, the pods and the time, so that
// it does not matter how often it is computed.
void Maintenance::turn_calendar() {
    const WindowSet before = calendar_.active;
    // also windows that the clock skipped: their nodes were avoided before, too
    WindowSet over = 0;
    calendar_.active = calendar_.closed = calendar_.draining = 0;
    calendar_.begins.resize(counted(state_.session.policy()));
    calendar_.clock.turns_at = Instant{};
    const auto consider = [this](Instant at) {
        Instant& next = calendar_.clock.turns_at;
        if (at > state_.session.event_time() && (!next.happened() || at < next)) next = at;
    };
    for (std::size_t i = 0; i < counted(state_.session.policy()); ++i) {
        const MaintenanceWindow& window = state_.session.policy().windows[i];
        const Occurrence next = next_occurrence(window, state_.session.event_time());
        const Instant known = std::exchange(calendar_.begins[i], next.begin);
        if (known.happened() && known != next.begin) over |= bit(i);
        if (!next.end.happened()) continue;
        if (next.begin <= state_.session.event_time()) calendar_.active |= bit(i);
        if (next.begin <= state_.session.event_time() && !window.is_reservation())
            calendar_.closed |= bit(i);
        consider(next.begin <= state_.session.event_time() ? next.end : next.begin);
    }
    const WindowSet turned = (before ^ calendar_.active) | over;
    for (const std::uint32_t slot : calendar_.nodes) {
        const NodeRow& row = state_.nodes.rows()[slot];
        for (const PodId pod : row.pods) note_stop(NodeId{slot}, state_.pods.rows()[pod.value()]);
        if ((row.windows & turned) == 0) continue;
        state_.jobs.note_change(NodeId{slot});
        state_.nodes.note_eligibility_change(NodeId{slot});
        if ((row.windows & over) != 0 && !has_fault(SeededFault::never_reopen)) {
            state_.tree.note_gain(row.pool);
        } else {
            state_.tree.note_change(row.pool);
        }
    }
    if (over != 0) forget_postponed_drains();
    Instant& again = calendar_.clock.drain_again_at;
    if (again.happened() && again <= state_.session.event_time()) {
        again = Instant{};
        forget_postponed_drains();
    }
    consider(calendar_.clock.drain_again_at);
    if (calendar_.nodes.empty()) return;
    calendar_.clock.drain_due = true;
    state_.nominations.revisit_nominations();
}

// Finds the time at which a pod is to be evicted from a node that is in a window or unhealthy.
void Maintenance::note_stop(NodeId node, const PodRow& pod) {
    const WindowSet windows = state_.nodes.rows()[node.value()].windows;
    Instant& turn = calendar_.clock.turns_at;
    if (pod.eviction.spared_until > state_.session.event_time()) {
        if (!turn.happened() || pod.eviction.spared_until < turn) turn = pod.eviction.spared_until;
    }
    for (std::size_t i = 0; i < counted(state_.session.policy()); ++i) {
        const MaintenanceWindow& window = state_.session.policy().windows[i];
        if ((windows & bit(i)) == 0 || window.drain == Drain::none) continue;
        const Occurrence next = next_occurrence(window, state_.session.event_time());
        if (!next.end.happened()) continue;
        const Instant at = stops_at(window, next, pod.facts.stop_grace);
        if (at <= state_.session.event_time()) {
            calendar_.draining |= bit(i);
        } else if (!turn.happened() || at < turn) {
            turn = at;
        }
    }
}

bool Maintenance::is_closed(NodeId node) const {
    return (state_.nodes.rows()[node.value()].windows & calendar_.closed) != 0;
}

WindowSet reserved_for(const ClusterState& state, const JobRow& job) {
    const auto names = [](const std::vector<std::string>& list, const std::string& name) {
        return std::find(list.begin(), list.end(), name) != list.end();
    };
    WindowSet out = 0;
    for (std::size_t i = 0; i < counted(state.policy()); ++i) {
        const MaintenanceWindow& window = state.policy().windows[i];
        if (!window.is_reservation() || has_fault(SeededFault::reserve_for_no_job)) continue;
        bool is_owner = names(window.tenants, state.tenant(job.tenant).name);
        for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
            is_owner = is_owner || names(window.queues, state.queue(up).name);
        }
        if (is_owner) out |= bit(i);
    }
    return out;
}

Stay Maintenance::stay_of(const JobRow& job, const std::vector<PodId>& pods) const {
    Stay stay;
    stay.own = reserved_for(state_, job);
    stay.least = Drain::preemptible;
    for (const PodId id : pods) {
        const PodFacts& facts = state_.pods.rows()[id.value()].facts;
        stay.grace = std::max(stay.grace, facts.stop_grace);
        if (is_stopped_by(stay.least, facts)) continue;
        stay.least = is_stopped_by(Drain::all, facts) ? Drain::all : Drain::none;
        if (stay.least == Drain::none) break;
    }
    stay.time = job.run.time_max;
    const bool is_endless = job.record && job.record->spec.kind != JobKind::training;
    if (stay.time > Duration{} || is_endless) return stay;
    const RunTimeQuestion about = state_.run_times.question_about(job);
    std::vector<Duration> runs;
    const RunTimeBasis basis = state_.run_times.history().alike(about, 1, runs);
    stay.time = job.run.time_expected;
    if (basis == RunTimeBasis::same_size || basis == RunTimeBasis::same_job) {
        stay.time = std::max(stay.time, state_.run_times.history().predict(about).high);
    }
    return stay;
}

// For a job that starts at any time between `from` and `from` + `delay`. The closer a window is,
// the more jobs it bars; until its end, it bars all.
WindowSet Maintenance::barred(const Stay& stay, Instant from, Duration delay) const {
    const Instant last = from + delay;
    WindowSet out = 0;
    for (std::size_t i = 0; i < counted(state_.session.policy()); ++i) {
        const MaintenanceWindow& window = state_.session.policy().windows[i];
        const Occurrence next = next_occurrence(window, from);
        if (!next.end.happened() || (stay.own & bit(i)) != 0) continue;
        if (next.begin > last) {
            const bool is_known = stay.time > Duration{};
            if (is_known && last + stay.time <= next.begin) continue;
            if (has_fault(SeededFault::ignore_windows_to_come)) continue;
            const bool is_stopped = stay.least != Drain::none && window.drain >= stay.least;
            if (is_stopped && last < stops_at(window, next, stay.grace)) continue;
            const Instant closes{next.begin.ms() - window.closes_ahead.ms()};
            if (!is_stopped && !is_known && last < closes) continue;
        }
        out |= bit(i);
    }
    return out;
}

bool Maintenance::is_barred(const JobRow& job, const std::vector<Placement>& round) const {
    if (!has_windows()) return false;
    std::vector<PodId> pods;
    WindowSet there = 0;
    for (const Placement& placement : round) {
        pods.push_back(placement.pod);
        there |= state_.nodes.rows()[placement.node.value()].windows;
    }
    return there != 0 && (there & barred(stay_of(job, pods), state_.session.event_time())) != 0;
}

void Maintenance::note_drain_outcome(const PodRow& pod, EvictResult result) {
    CalendarClock& clock = calendar_.clock;
    Instant again;
    switch (result) {
        case EvictResult::evicted:
        case EvictResult::gone:
            clock.drain_failures = 0;
            return;
        case EvictResult::refused:
            again = pod.eviction.spared_until;
            break;
        case EvictResult::disruption_budget:
        case EvictResult::failed:
            // One backoff for all evictions that are requested together.
            if (clock.drain_again_at > state_.session.event_time()) return;
            ++clock.drain_failures;
            again = state_.session.event_time() +
                    backoff_after(clock.drain_failures, state_.session.policy().backoff_initial,
                                  state_.session.policy().backoff_maximum);
    }
    if (has_fault(SeededFault::forget_postponed_drains)) return;
    if (!clock.drain_again_at.happened() || again < clock.drain_again_at) {
        clock.drain_again_at = again;
    }
    if (!clock.turns_at.happened() || again < clock.turns_at) clock.turns_at = again;
}

// The reason for the evictions may be gone; if not, they are requested again. Until then the pods
// may be evicted for other jobs, which are tried again.
void Maintenance::forget_postponed_drains() {
    for (std::uint32_t i = 0; i < state_.pods.rows().size(); ++i) {
        const PodRow& pod = state_.pods.rows()[i];
        if (pod.eviction.state != EvictionState::postponed || pod.eviction.preemptor != ObjectKey{})
            continue;
        state_.evictions.withdraw_eviction(PodId{i});
        if (pod.job.exists()) state_.jobs.mark_dirty(pod.job);
        state_.pods.note_termination(PodId{i});
    }
}

bool Maintenance::has_windows() const { return !state_.session.policy().windows.empty(); }

}  // namespace gpuctl
