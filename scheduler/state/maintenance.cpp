// Maintenance windows, and nodes that are told to be unhealthy: which nodes take no work, who is
// stopped for that, and when to look again (docs/adr/0020-calendar.md).

#include <algorithm>
#include <utility>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

constexpr WindowSet bit(std::size_t window) { return WindowSet{1} << window; }

// When pods with this grace are asked to stop for an occurrence.
Instant stops_at(const MaintenanceWindow& window, Occurrence next, Duration grace) {
    return Instant{next.begin.ms() - std::max(window.notice, grace).ms()};
}

std::size_t counted(const Policy& policy) {
    return std::min(policy.windows.size(), kWindowsMaximum);
}

}  // namespace

void ClusterState::take_windows() {
    forget_postponed_drains();
    for (std::uint32_t slot = 0; slot < nodes_.size(); ++slot) place_in_windows(NodeId{slot});
    turn_calendar();
    forget_eligibility();
}

void ClusterState::place_in_windows(NodeId id) {
    NodeRow& row = nodes_[id.value()];
    WindowSet windows = 0;
    for (std::size_t i = 0; row.known && i < counted(policy_); ++i) {
        if (covers(policy_.windows[i], row.facts)) windows |= bit(i);
    }
    const bool is_listed = windows != 0 || !row.facts.unhealthy.empty();
    if (windows == 0 && row.windows == 0 && !is_listed && !calendar_.nodes.contains(id.value())) {
        return;
    }
    row.windows = windows;
    changes_.note(id);
    if (is_listed) {
        calendar_.nodes.insert(id.value());
    } else {
        calendar_.nodes.erase(id.value());
    }
    calendar_.clock.drain_due = true;
    forget_postponed_drains();
    note_eligibility_change(id);
    note_gain(row.pool);
    for (const PodId pod : row.pods) note_stop(id, pods_[pod.value()]);
}

// Windows begin and end. What the calendar says is a function of the policy, the pods and the time,
// so that it does not matter how often it is asked.
void ClusterState::turn_calendar() {
    const WindowSet before = calendar_.active;
    WindowSet over = 0;  // also those that a clock leapt over: they kept work off, too
    calendar_.active = calendar_.closed = calendar_.draining = 0;
    calendar_.begins.resize(counted(policy_));
    calendar_.clock.turns_at = Instant{};
    const auto consider = [this](Instant at) {
        Instant& next = calendar_.clock.turns_at;
        if (at > now_ && (!next.happened() || at < next)) next = at;
    };
    for (std::size_t i = 0; i < counted(policy_); ++i) {
        const MaintenanceWindow& window = policy_.windows[i];
        const Occurrence next = next_occurrence(window, now_);
        const Instant known = std::exchange(calendar_.begins[i], next.begin);
        if (known.happened() && known != next.begin) over |= bit(i);
        if (!next.end.happened()) continue;
        if (next.begin <= now_) calendar_.active |= bit(i);
        if (next.begin <= now_ && !window.is_reservation()) calendar_.closed |= bit(i);
        consider(next.begin <= now_ ? next.end : next.begin);
    }
    const WindowSet turned = (before ^ calendar_.active) | over;
    for (const std::uint32_t slot : calendar_.nodes) {
        const NodeRow& row = nodes_[slot];
        for (const PodId pod : row.pods) note_stop(NodeId{slot}, pods_[pod.value()]);
        if ((row.windows & turned) == 0) continue;
        changes_.note(NodeId{slot});
        note_eligibility_change(NodeId{slot});
        if ((row.windows & over) != 0 && !planted(PlantedBug::never_reopen)) {
            note_gain(row.pool);
        } else {
            note_change(row.pool);
        }
    }
    if (over != 0) forget_postponed_drains();
    Instant& again = calendar_.clock.drain_again_at;
    if (again.happened() && again <= now_) {
        again = Instant{};
        forget_postponed_drains();
    }
    consider(calendar_.clock.drain_again_at);
    if (calendar_.nodes.empty()) return;
    calendar_.clock.drain_due = true;
    look_at_claims();
}

// A pod holds on a node that is in windows or unhealthy: when is it to be asked to stop?
void ClusterState::note_stop(NodeId node, const PodRow& pod) {
    const WindowSet windows = nodes_[node.value()].windows;
    Instant& turn = calendar_.clock.turns_at;
    if (pod.spared_until > now_) {
        if (!turn.happened() || pod.spared_until < turn) turn = pod.spared_until;
    }
    for (std::size_t i = 0; i < counted(policy_); ++i) {
        const MaintenanceWindow& window = policy_.windows[i];
        if ((windows & bit(i)) == 0 || window.drain == Drain::none) continue;
        const Occurrence next = next_occurrence(window, now_);
        if (!next.end.happened()) continue;
        const Instant at = stops_at(window, next, pod.facts.stop_grace);
        if (at <= now_) {
            calendar_.draining |= bit(i);
        } else if (!turn.happened() || at < turn) {
            turn = at;
        }
    }
}

bool ClusterState::is_closed(NodeId node) const {
    return (nodes_[node.value()].windows & calendar_.closed) != 0;
}

WindowSet reserved_for(const ClusterState& state, const JobRow& job) {
    const auto names = [](const std::vector<std::string>& list, const std::string& name) {
        return std::find(list.begin(), list.end(), name) != list.end();
    };
    WindowSet out = 0;
    for (std::size_t i = 0; i < counted(state.policy()); ++i) {
        const MaintenanceWindow& window = state.policy().windows[i];
        if (!window.is_reservation() || planted(PlantedBug::reserve_for_nobody)) continue;
        bool is_owner = names(window.tenants, state.tenant(job.tenant).name);
        for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
            is_owner = is_owner || names(window.queues, state.queue(up).name);
        }
        if (is_owner) out |= bit(i);
    }
    return out;
}

Stay ClusterState::stay_of(const JobRow& job, const std::vector<PodId>& pods) const {
    Stay stay;
    stay.own = reserved_for(*this, job);
    stay.least = Drain::preemptible;
    for (const PodId id : pods) {
        const PodFacts& facts = pods_[id.value()].facts;
        stay.grace = std::max(stay.grace, facts.stop_grace);
        if (is_stopped_by(stay.least, facts)) continue;
        stay.least = is_stopped_by(Drain::all, facts) ? Drain::all : Drain::none;
        if (stay.least == Drain::none) break;
    }
    stay.time = job.run_time_max;
    const bool is_endless = job.record && job.record->spec.kind != JobKind::training;
    if (stay.time > Duration{} || is_endless) return stay;
    const RunTimeQuestion about = question_about(job);
    std::vector<Duration> runs;
    const RunTimeBasis basis = history_.alike(about, 1, runs);
    stay.time = job.run_time_expected;
    if (basis == RunTimeBasis::same_size || basis == RunTimeBasis::same_job) {
        stay.time = std::max(stay.time, history_.predict(about).high);
    }
    return stay;
}

// One that starts at any moment up to `delay` after `from`: the nearer a window, the more it bars,
// and to its end everything.
WindowSet ClusterState::barred(const Stay& stay, Instant from, Duration delay) const {
    const Instant last = from + delay;
    WindowSet out = 0;
    for (std::size_t i = 0; i < counted(policy_); ++i) {
        const MaintenanceWindow& window = policy_.windows[i];
        const Occurrence next = next_occurrence(window, from);
        if (!next.end.happened() || (stay.own & bit(i)) != 0) continue;
        if (next.begin > last) {
            const bool is_known = stay.time > Duration{};
            if (is_known && last + stay.time <= next.begin) continue;
            if (planted(PlantedBug::ignore_windows_to_come)) continue;
            const bool is_stopped = stay.least != Drain::none && window.drain >= stay.least;
            if (is_stopped && last < stops_at(window, next, stay.grace)) continue;
            const Instant closes{next.begin.ms() - window.closes_ahead.ms()};
            if (!is_stopped && !is_known && last < closes) continue;
        }
        out |= bit(i);
    }
    return out;
}

bool ClusterState::is_barred(const JobRow& job, const std::vector<Placement>& round) const {
    if (!has_windows()) return false;
    std::vector<PodId> pods;
    WindowSet there = 0;
    for (const Placement& placement : round) {
        pods.push_back(placement.pod);
        there |= nodes_[placement.node.value()].windows;
    }
    return there != 0 && (there & barred(stay_of(job, pods), now_)) != 0;
}

void ClusterState::drain(const std::vector<PodId>& pods, EvictionCause cause,
                         const std::string& why, EffectList& effects) {
    const auto is_new = [this](PodId pod) { return pods_[pod.value()].eviction == Eviction::none; };
    if (std::any_of(pods.begin(), pods.end(), is_new)) forget_old_moves();
    for (const PodId pod : pods) {
        if (is_new(pod)) request_eviction(pod, cause, why);
        pods_[pod.value()].evicted_for = ObjectKey{};
        send_eviction(pod, effects);
    }
}

void ClusterState::note_drain_outcome(PodRow& pod, EvictResult result) {
    CalendarClock& clock = calendar_.clock;
    Instant again;
    switch (result) {
        case EvictResult::evicted:
        case EvictResult::gone:
            pod.eviction = Eviction::accepted;
            clock.drain_failures = 0;
            return;
        case EvictResult::refused:
            spare(pod, kSparedFor);
            again = pod.spared_until;
            break;
        case EvictResult::disruption_budget:
        case EvictResult::failed:
            pod.eviction = Eviction::postponed;
            // One backoff for all that are asked together.
            if (clock.drain_again_at > now_) return;
            ++clock.drain_failures;
            again = now_ + backoff_after(clock.drain_failures, policy_.backoff_initial,
                                         policy_.backoff_maximum);
    }
    if (planted(PlantedBug::forget_postponed_drains)) return;
    if (!clock.drain_again_at.happened() || again < clock.drain_again_at) {
        clock.drain_again_at = again;
    }
    if (!clock.turns_at.happened() || again < clock.turns_at) clock.turns_at = again;
}

// The reason why they were asked may be gone; if not, they are asked again. Until then they may be
// stopped for others, who look again.
void ClusterState::forget_postponed_drains() {
    for (std::uint32_t i = 0; i < pods_.size(); ++i) {
        PodRow& pod = pods_[i];
        if (pod.eviction != Eviction::postponed || pod.evicted_for != ObjectKey{}) continue;
        withdraw_eviction(pod);
        if (pod.job.exists()) mark_dirty(pod.job);
        note_leaving(PodId{i});
    }
}

}  // namespace gpuctl
