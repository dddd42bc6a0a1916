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

// Events that users and machines cause. All other events are our decisions, or answers to them.
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

ObjectKey job_of(const PodFacts& facts) {
    return {facts.key.namespace_name, facts.job.empty() ? facts.key.name : facts.job};
}

Duration progress(const PodFacts& facts, Duration run, bool was_stopped) {
    return was_stopped ? std::max(run - facts.restart_cost, Duration{}) : run;
}

Duration kept(const PodFacts& facts, Duration done) {
    const std::int64_t interval_ms = facts.checkpoint_interval.ms();
    return interval_ms > 0 ? Duration{done.ms() / interval_ms * interval_ms} : Duration{};
}

void PastCollector::add_input(const Input& input) {
    if (input.now < since_ && window_.exported.empty()) {
        step(input);
        leads_up_ = true;
        return;
    }
    if (window_.exported.empty()) begin_window(input.now);
    window_.end = std::max(window_.end, input.now);
    step(input);
    if (const auto* seen = std::get_if<PodObserved>(&input.event)) {
        if (seen->pod.ours) return see(seen->pod, input.now);
        window_.events.push_back({input.now, input.event});
    } else if (const auto* removed = std::get_if<PodRemoved>(&input.event)) {
        see_removed(removed->uid, input.event, input.now);
    } else if (is_from_outside(input.event)) {
        window_.events.push_back({input.now, input.event});
    }
}

// A refused request has not stopped the pod: if the pod ends later, this has another cause.
void PastCollector::forget_refused(const Event& event) {
    if (const auto* eviction = std::get_if<PodEvictOutcome>(&event)) {
        const bool goes =
            eviction->result == EvictResult::evicted || eviction->result == EvictResult::gone;
        if (!goes) asked_to_stop_.erase(eviction->uid);
    } else if (const auto* deletion = std::get_if<PodDeleteOutcome>(&event)) {
        if (!deletion->deleted) asked_to_stop_.erase(deletion->uid);
    } else if (const auto* resize = std::get_if<WorkloadResizeOutcome>(&event)) {
        const JobId job = engine_.state().jobs.find_job(resize->key);
        if (!job.exists() || engine_.state().job(job).elastic.phase() == ElasticPhase::in_flight)
            return;
        sizes_[resize->key] = engine_.state().job(job).elastic.size;
    }
}

// The engine is stepped within the window, too: only it knows which pods it has evicted.
void PastCollector::step(const Input& input) {
    effects_.clear();
    engine_.step(input, effects_);
    forget_refused(input.event);
    for (const Effect& effect : effects_) {
        if (const auto* eviction = std::get_if<EvictPod>(&effect)) {
            asked_to_stop_.insert(eviction->pod.uid);
        } else if (const auto* deletion = std::get_if<DeletePod>(&effect)) {
            asked_to_stop_.insert(deletion->pod.uid);
        } else if (const auto* resize = std::get_if<ResizeWorkload>(&effect)) {
            sizes_[resize->key] = resize->to;
        }
    }
}

void PastCollector::begin_window(Instant now) {
    window_.begin = leads_up_ ? since_ : now;  // otherwise the journal does not reach back further
    window_.end = now;
    window_.exported = engine_.export_state();
    const ClusterState& state = engine_.state();
    for (const auto& [key, id] : state.pods.pods_by_key()) {
        const PodRow& row = state.pod(id);
        if (!row.facts.ours || is_terminal(row.facts.phase)) continue;
        by_uid_.emplace(row.facts.uid, window_.pods.size());
        PastPod& pod = window_.pods.emplace_back();
        pod.facts = as_it_came(row.facts);
        pod.arrived = row.facts.created_at;
        pod.was_there = true;
        pod.was_running = row.bind.state == BindState::bound;
        if (pod.was_running) pod.started = row.facts.started_at;
        pod_runs_.push_back({pod.started, Duration{}, false});
    }
}

PastCollector::Place PastCollector::place_of(const PodFacts& facts) {
    return {facts.key.namespace_name, facts.job.empty() ? facts.key.name : facts.job, facts.rank};
}

// A controller may create the replacement of a pod before the old pod is gone.
void PastCollector::end_replaced_pod(const PodFacts& facts, Instant now) {
    const Place place = place_of(facts);
    const auto old = std::find_if(ending_.begin(), ending_.end(),
                                  [&](const auto& one) { return one.second == place; });
    if (old == ending_.end()) return;
    end_pod_run(by_uid_.at(old->first), now);
    by_uid_.erase(old->first);
    replaced_.insert(old->first);
    ending_.erase(old);
}

std::size_t PastCollector::place_in_window(const PodFacts& facts, Instant now) {
    if (!stopped_.contains(place_of(facts))) end_replaced_pod(facts, now);
    if (const auto before = stopped_.find(place_of(facts)); before != stopped_.end()) {
        const std::size_t pod = before->second;
        stopped_.erase(before);
        return pod;
    }
    PastPod& pod = window_.pods.emplace_back();
    pod.facts = as_it_came(facts);
    pod.arrived = now;
    pod_runs_.emplace_back();
    return window_.pods.size() - 1;
}

bool PastCollector::is_stopped_by_us(const std::string& uid, const PodFacts& facts) const {
    if (asked_to_stop_.contains(uid)) return true;
    const auto size = sizes_.find(job_of(facts));
    return size != sizes_.end() && facts.rank >= size->second;
}

void PastCollector::end_pod_run(std::size_t pod, Instant now) {
    PodRun& run = pod_runs_[pod];
    const PodFacts& facts = window_.pods[pod].facts;
    if (run.started.happened()) {
        run.kept = run.kept + kept(facts, progress(facts, now - run.started, run.was_stopped));
        run.was_stopped = true;
    }
    run.started = Instant{};
    stopped_.emplace(place_of(facts), pod);
}

void PastCollector::see(const PodFacts& facts, Instant now) {
    if (replaced_.contains(facts.uid)) return;
    auto known = by_uid_.find(facts.uid);
    if (known == by_uid_.end()) {
        // A gated pod may not be placed yet. An ended pod is reported again after a restart.
        if (facts.gated || is_terminal(facts.phase)) return;
        known = by_uid_.emplace(facts.uid, place_in_window(facts, now)).first;
    }
    PastPod& pod = window_.pods[known->second];
    PodRun& run = pod_runs_[known->second];
    if (!facts.node.empty() && !run.started.happened()) run.started = now;
    if (facts.started_at.happened() && !pod.was_running) run.started = facts.started_at;
    if (!run.was_stopped && run.started.happened()) pod.started = run.started;
    if (facts.terminating && pod.ran == Duration{} && is_stopped_by_us(facts.uid, facts)) {
        ending_.emplace(facts.uid, place_of(facts));
    }
    if (!is_terminal(facts.phase) || pod.ran > Duration{}) return;
    if (facts.terminating && is_stopped_by_us(facts.uid, facts)) return;  // until it is removed
    const Instant ended = facts.finished_at.happened() ? facts.finished_at : now;
    const Duration last = progress(facts, ended - run.started, run.was_stopped);
    pod.ran = std::max(run.kept + last, Duration{1});
    pod.ended_as = facts.phase;
}

void PastCollector::see_removed(const std::string& uid, const Event& event, Instant now) {
    if (replaced_.erase(uid) > 0) return;
    ending_.erase(uid);
    const auto known = by_uid_.find(uid);
    if (known == by_uid_.end()) return window_.events.push_back({now, event});
    PastPod& pod = window_.pods[known->second];
    if (pod.ran > Duration{}) return;  // the pod had ended
    if (is_stopped_by_us(uid, pod.facts)) return end_pod_run(known->second, now);
    const PodRun& run = pod_runs_[known->second];
    if (run.started.happened()) {
        pod.ran = std::max(run.kept + progress(pod.facts, now - run.started, run.was_stopped),
                           Duration{1});
        pod.ended_as = PodPhase::failed;
    } else {
        pod.given_up = now;
    }
}

PastWindow PastCollector::finish(Instant until) && {
    if (window_.exported.empty() && leads_up_) begin_window(since_);
    window_.end = std::max(window_.end, until);
    return std::move(window_);
}

}  // namespace gpuctl::whatif
