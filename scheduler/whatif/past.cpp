#include "scheduler/whatif/past.hpp"

#include <algorithm>
#include <utility>

namespace gpuctl::whatif {
namespace {

PodFacts as_it_came(PodFacts facts) {
    facts.phase = PodPhase::pending;
    facts.status.clear();
    facts.node.clear();
    facts.address.clear();
    facts.terminating = false;
    facts.gated = false;
    facts.started_at = facts.finished_at = Instant{};
    return facts;
}

// What people and machines did; the rest were our decisions, or answers to them.
bool is_from_outside(const Event& event) {
    return std::holds_alternative<NodeObserved>(event) ||
           std::holds_alternative<NodeRemoved>(event) ||
           std::holds_alternative<GangObserved>(event) ||
           std::holds_alternative<GangRemoved>(event) ||
           std::holds_alternative<JobSubmitted>(event) ||
           std::holds_alternative<JobAdopted>(event) ||
           std::holds_alternative<JobDeleteRequested>(event) ||
           std::holds_alternative<PolicyChanged>(event);
}

}  // namespace

void PastCollector::take(const Input& input) {
    if (input.now < since_ && window_.exported.empty()) {
        effects_.clear();
        engine_.step(input, effects_);
        leads_up_ = true;
        return;
    }
    if (window_.exported.empty()) begin_window(input.now);
    window_.end = std::max(window_.end, input.now);
    if (const auto* seen = std::get_if<PodObserved>(&input.event)) {
        if (seen->pod.ours) return see(seen->pod, input.now);
        window_.events.push_back({input.now, input.event});
    } else if (const auto* removed = std::get_if<PodRemoved>(&input.event)) {
        see_removed(removed->uid, input.event, input.now);
    } else if (is_from_outside(input.event)) {
        window_.events.push_back({input.now, input.event});
    }
}

void PastCollector::begin_window(Instant now) {
    window_.begin = leads_up_ ? since_ : now;  // else the journal reaches back no further
    window_.end = now;
    window_.exported = engine_.export_state();
    const ClusterState& state = engine_.state();
    for (const auto& [key, id] : state.pods_by_key()) {
        const PodRow& row = state.pod(id);
        if (!row.facts.ours || is_terminal(row.facts.phase)) continue;
        by_uid_.emplace(row.facts.uid, window_.pods.size());
        PastPod& pod = window_.pods.emplace_back();
        pod.facts = as_it_came(row.facts);
        pod.arrived = row.facts.created_at;
        pod.was_there = true;
        pod.was_running = row.standing == PodStanding::bound;
        if (pod.was_running) pod.started = row.facts.started_at;
    }
}

void PastCollector::see(const PodFacts& facts, Instant now) {
    auto known = by_uid_.find(facts.uid);
    if (known == by_uid_.end()) {
        // Gated: nobody may place it yet. Ended: it is told again after a restart.
        if (facts.gated || is_terminal(facts.phase)) return;
        known = by_uid_.emplace(facts.uid, window_.pods.size()).first;
        PastPod& pod = window_.pods.emplace_back();
        pod.facts = as_it_came(facts);
        pod.arrived = now;
    }
    PastPod& pod = window_.pods[known->second];
    if (!facts.node.empty() && !pod.started.happened()) pod.started = now;
    if (facts.started_at.happened() && !pod.was_running) pod.started = facts.started_at;
    if (!is_terminal(facts.phase) || pod.ran > Duration{}) return;
    const Instant ended = facts.finished_at.happened() ? facts.finished_at : now;
    pod.ran = std::max(ended - pod.started, Duration{1});
    pod.ended_as = facts.phase;
}

void PastCollector::see_removed(const std::string& uid, const Event& event, Instant now) {
    const auto known = by_uid_.find(uid);
    if (known == by_uid_.end()) return window_.events.push_back({now, event});
    PastPod& pod = window_.pods[known->second];
    if (pod.ran > Duration{}) return;  // had ended
    if (pod.started.happened()) {
        pod.ran = std::max(now - pod.started, Duration{1});
        pod.ended_as = PodPhase::failed;
    } else {
        pod.given_up = now;
    }
}

PastWindow PastCollector::finish() && { return std::move(window_); }

}  // namespace gpuctl::whatif
