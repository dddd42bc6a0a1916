// I17: a pod is evicted for another job only if that is allowed.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::record_eviction(const EvictPod& eviction, const ClusterState& after,
                              std::vector<Evictions>& step) {
    ++probes.evictions_sent;
    record_eviction_order(eviction);
    if (eviction.preemptor == ObjectKey{}) return check_drain(eviction, after);
    check_eviction(eviction);
    const auto [asked, is_new] = preemptor_of_.try_emplace(eviction.pod.uid);
    const bool is_asked_again = !is_new && asked->second == eviction.preemptor;
    asked->second = eviction.preemptor;
    // In a new term, unanswered evictions are sent again before nominations are settled.
    const JobId by = after.jobs.find_job(eviction.preemptor);
    if (is_asked_again && by.exists() && !after.job(by).nomination.exists()) return;
    for (Evictions& known : step) {
        if (known.preemptor == eviction.preemptor) return known.pods.push_back(eviction);
    }
    step.push_back({eviction.preemptor, {eviction}, reference_});
}

// Nominations of this step without evictions: elastic jobs shrink for them.
Checker::Places Checker::nominated_elsewhere(const std::vector<Evictions>& step,
                                             const ClusterState& after) const {
    Places out;
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        const auto is_for_it = [&job = key](const Evictions& of) { return of.preemptor == job; };
        if (!after.job(id).nomination.exists()) continue;
        if (std::any_of(step.begin(), step.end(), is_for_it)) continue;
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.bind.state != BindState::nominated) continue;
            out[row.facts.uid] = {after.node(row.node).facts.name, row.gpu_device};
        }
    }
    return out;
}

void Checker::check_evictions(std::vector<Evictions>& step, const ClusterState& after) {
    const Places other_nominations = step.empty() ? Places{} : nominated_elsewhere(step, after);
    Places nominated_in_this_step;
    for (std::size_t i = 0; i < step.size(); ++i) {
        Evictions& of = step[i];
        for (const auto& [uid, place] : nominated_in_this_step) nominate(of.before, uid, place);
        const JobId id = after.jobs.find_job(of.preemptor);
        if (!id.exists() || !after.job(id).nomination.exists()) {
            fail("I17", "pods are evicted for job " + to_string(of.preemptor) +
                            ", which has no nomination");
            continue;
        }
        bool is_new = false;
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.bind.state != BindState::nominated) continue;
            if (!reference_.nominated_before(row.facts.uid).empty()) continue;
            is_new = true;
            nominated_in_this_step[row.facts.uid] = {after.node(row.node).facts.name,
                                                     row.gpu_device};
        }
        if (!is_new) continue;
        ReferenceModel then = without_terminating(of.before, after, after.job(id));
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.bind.state != BindState::nominated) continue;
            nominate(then, row.facts.uid, {after.node(row.node).facts.name, row.gpu_device});
        }
        for (std::size_t later = i + 1; later < step.size(); ++later) {
            restore_evicted(step[later], then);
        }
        check_nomination(of, after, other_nominations, std::move(then));
    }
}

void Checker::nominate(ReferenceModel& reference, const std::string& uid, const Place& place) {
    reference.pods.at(uid).nominated_node = place.node;
    reference.pods.at(uid).nominated_device = place.device;
}

// Evictions that are decided later in the same step do not influence this one.
void Checker::restore_evicted(const Evictions& of, ReferenceModel& then) const {
    for (const EvictPod& eviction : of.pods) {
        ReferencePod& pod = then.pods.at(eviction.pod.uid);
        pod.facts.phase = reference_.pods.at(eviction.pod.uid).facts.phase;
        pod.evicting = false;
    }
}

void Checker::check_eviction(const EvictPod& eviction) {
    const std::string what = "eviction of " + to_string(eviction.pod.key);
    const auto found = reference_.pods.find(eviction.pod.uid);
    if (found == reference_.pods.end()) return fail("I17", what + ": no such pod");
    const ReferencePod& pod = found->second;
    if (!pod.is_bound() || is_terminal(pod.facts.phase)) fail("I17", what + ": it does not run");
    if (!pod.facts.has_controller) fail("I17", what + ": no controller would recreate it");
    const auto asked = preemptor_of_.find(eviction.pod.uid);
    const bool is_asked_again = asked != preemptor_of_.end() && asked->second == eviction.preemptor;
    if (is_stranded(pod.facts) ||
        (is_asked_again && evicted_stranded_.contains(eviction.pod.uid))) {
        evicted_stranded_.insert(eviction.pod.uid);
        return;
    }
    const auto job = reference_.jobs.find(eviction.preemptor);
    if (job == reference_.jobs.end()) return fail("I17", what + ": for a job without pods");
    const PodFacts& by = reference_.pods.at(*job->second.begin()).facts;
    const bool is_for_higher_priority = by.priority > pod.facts.priority &&
                                        may_be_preempted(pod.facts) &&
                                        reference_.queue_of(by) == reference_.queue_of(pod.facts);
    if (is_for_higher_priority && !pod.facts.preemptible) ++probes.preempted_by_default;
    if (!pod.facts.preemptible && !is_for_higher_priority && !is_asked_again) {
        fail("I17", what + ": it may not be evicted for other jobs");
    }
    if (reference_.queue_of(by) != reference_.queue_of(pod.facts))
        return;  // check_reclaim() checks it
    if (!by.preempts) fail("I17", what + ": for a job that may not preempt");
    if (is_asked_again) return;  // decided before: a nomination outlives a policy change
    const bool may_be_equal =
        // check_shortest_remaining() checks it
        preempts_by_remaining_time(reference_.queue_of(by));
    if (by.priority < pod.facts.priority || (by.priority == pod.facts.priority && !may_be_equal)) {
        fail("I17", what + ": for a job of no higher priority");
    }
}

// True if a job of higher priority may preempt the pod. The pool may also allow this for jobs that
// do not state whether they are preemptible.
bool Checker::may_be_preempted(const PodFacts& pod) const {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    return pod.preemptible ||
           (pod.preemptible_is_default &&
            reference_.preemption_of(pool).victims == PreemptionVictims::lower_priority);
}

bool Checker::has_quota(const std::string& name) const {
    const TenantPolicy* tenant = reference_.tenant(name);
    return tenant != nullptr &&
           (tenant->gpu_maximum || tenant->cpu_maximum || tenant->memory_maximum);
}

bool Checker::shares_quota(const JobRow& job, const JobRow& other) const {
    return has_quota(job.key.namespace_name) && job.key.namespace_name == other.key.namespace_name;
}

bool Checker::is_terminating_or_evicted(const ClusterState& state, const std::string& uid) const {
    const ReferencePod& pod = reference_.pods.at(uid);
    const PodId id = state.pods.find_pod(uid);
    if (is_stuck(pod, state.now())) return false;
    return pod.facts.terminating || (id.exists() && state.pod(id).is_terminating());
}

// The reference model without the terminating pods on nodes of the job's pool. If the job's
// namespace has a quota for all pools together, terminating pods of the namespace are removed in
// all pools.
ReferenceModel Checker::without_terminating(ReferenceModel out, const ClusterState& state,
                                            const JobRow& job) const {
    const std::string& pool = state.pool(job.pool).name;
    const std::string& own = job.key.namespace_name;
    const bool counts_own = has_quota(own);
    for (const auto& [uid, pod] : reference_.pods) {
        const auto node = reference_.nodes.find(pod.where());
        if (node == reference_.nodes.end() || !node->second.ready) continue;
        const bool is_own = counts_own && pod.facts.key.namespace_name == own;
        if (node->second.pool != pool && !is_own) continue;
        if (is_terminating_or_evicted(state, uid)) out.pods.at(uid).facts.phase = PodPhase::failed;
    }
    return out;
}

// Whether without_terminating() would remove anything. It is cached, because every waiting job asks
// for it.
bool Checker::has_terminating_pods(const ClusterState& state, const JobRow& job) {
    const std::string& pool = state.pool(job.pool).name;
    const std::string own = has_quota(job.key.namespace_name) ? job.key.namespace_name : "";
    const auto [known, is_new] = has_terminating_.try_emplace({pool, own}, false);
    if (!is_new) return known->second;
    known->second =
        std::any_of(reference_.pods.begin(), reference_.pods.end(), [&](const auto& entry) {
            const auto& [uid, pod] = entry;
            if (!pod.holds()) return false;
            const auto node = reference_.nodes.find(pod.where());
            if (node == reference_.nodes.end() || !node->second.ready) return false;
            const bool is_own = !own.empty() && pod.facts.key.namespace_name == own;
            return (node->second.pool == pool || is_own) && is_terminating_or_evicted(state, uid);
        });
    return known->second;
}

}  // namespace gpuctl::sim
