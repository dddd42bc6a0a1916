// I17 of preemption by remaining time: the victim has clearly more remaining work, no job later
// preempts its preemptor for that reason, and finished work is not forgotten.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"
#include "sim/swarm/reference/remaining_time.hpp"

namespace gpuctl::sim {
namespace {

// Earliest and latest due time of the job, recounted without the engine's rounding of run times.
std::pair<std::int64_t, std::int64_t> due_between(const ClusterState& state, const JobRow& job,
                                                  const PreemptionPolicy& policy) {
    const std::int64_t percent = policy.slowdown_percent;
    const Duration whole = job.run.time_expected > Duration{}
                               ? job.run.time_expected
                               : state.run_times.progress_of(job) + remaining_time(state, job);
    const std::int64_t times = std::int64_t{1} << static_cast<unsigned>(job.run.lateness.doublings);
    const std::int64_t due = job.submitted_at.ms() + whole.ms() * percent / 100 * times;
    return {due, due + (whole.ms() / 8 * percent / 100 + percent) * times};
}

// In total, without the time that it ran for.
Duration waited(const ClusterState& state, const JobRow& job) {
    return state.now() - job.submitted_at - state.run_times.progress_of(job);
}

}  // namespace

bool Checker::preempts_by_remaining_time(const QueueName& queue) const {
    return reference_.exists(queue) && reference_.order_of(queue) == QueueOrder::shortest &&
           reference_.preemption_of(queue.pool).stops_by_run_time();
}

// Compares the recounted remaining size (time x GPUs), or due times, as the policy states.
bool Checker::has_more_remaining(const ClusterState& state, const JobRow& runs,
                                 const JobRow& waits) const {
    const PreemptionPolicy policy = preemption_of(state, waits);
    if (policy.mode == PreemptionMode::due) {
        return due_between(state, runs, policy).second > due_between(state, waits, policy).first;
    }
    return running_size(state, policy, runs, Duration{}) > waiting_size(state, policy, waits);
}

void Checker::check_shortest_remaining(const EvictPod& eviction, const ClusterState& after) {
    const std::string what = "eviction of " + to_string(eviction.pod.key);
    const JobId victim = after.jobs.find_job(eviction.job);
    const JobId preemptor = after.jobs.find_job(eviction.preemptor);
    if (!victim.exists() || !preemptor.exists()) return;
    ++probes.preempted_for_shorter;
    const JobRow& by = after.job(preemptor);
    const PreemptionPolicy policy = preemption_of(after, by);
    const Duration patience = policy.stops_by_run_time()
                                  ? reference_.backfill_of(after.pool(by.pool).name).patience
                                  : Duration{INT64_MAX};
    check_lateness_of_victim(eviction, after);
    if (waited(after, by) >= patience) return;    // it goes first
    if (lateness(after, by).may_be_late) return;  // it must start now
    if (policy.mode == PreemptionMode::due) ++probes.preempted_for_due;
    if (!has_more_remaining(after, after.job(victim), after.job(preemptor))) {
        fail("I17", what + (policy.mode == PreemptionMode::due
                                ? ": it is due sooner than its preemptor"
                                : ": it has less remaining work than its preemptor"));
    }
    if (policy.mode == PreemptionMode::due) return;  // due times are fixed
    if (by.run.nears_wait_target) {                  // its victim may have less remaining work
        ++probes.evicted_for_wait_target;
        return;
    }
    // The order may reverse only if one job lost work or the other ran meanwhile.
    const Duration of_victim = remaining_time(after, after.job(victim));
    const Duration of_preemptor = remaining_time(after, after.job(preemptor));
    const auto before = remaining_at_preemption_.find({eviction.job, eviction.preemptor});
    if (before != remaining_at_preemption_.end() && of_victim <= before->second.first &&
        of_preemptor >= before->second.second) {
        fail("I17", what + ": for a job that it had preempted for its remaining work");
    }
    remaining_at_preemption_[{eviction.preemptor, eviction.job}] = {of_preemptor, of_victim};
}

// Work kept by checkpoints must not be forgotten while the preempted job waits.
void Checker::record_kept_work(const EvictPod& eviction, const ClusterState& after) {
    const JobId id = after.jobs.find_job(eviction.job);
    if (!id.exists() || after.job(id).pods.empty()) return;
    const std::vector<PodId>& pods = after.job(id).pods;
    const auto runs = [&](PodId pod) { return after.pod(pod).bind.state == BindState::bound; };
    if (!std::all_of(pods.begin(), pods.end(), runs)) return;  // its running pods show its progress
    const PodRow& first = after.pod(pods.front());
    if (first.facts.uid != eviction.pod.uid || first.facts.checkpoint_interval <= Duration{}) {
        return;
    }
    Instant began = std::max(first.bind.placed_at, first.facts.started_at);
    // A job with a speedup curve restarts at every resize, so progress is counted since the last
    // resize.
    if (is_paced(after.job(id))) began = std::max(began, after.job(id).elastic.paced_from);
    kept_work_when_asked_[eviction.job] = {eviction.pod.uid, began, after.now()};
}

// The container of a pod that was evicted just after its placement may be reported as started only
// now: the time between was no work.
void Checker::record_late_start(const PodFacts& pod) {
    const auto kept = kept_work_when_asked_.find(job_of(pod));
    if (kept == kept_work_when_asked_.end() || kept->second.uid != pod.uid) return;
    kept->second.began = std::max(kept->second.began, pod.started_at);
}

Duration Checker::done_when_asked(const KeptWork& kept, const PodFacts& pod) {
    const Duration ran = std::max(kept.asked_at - kept.began - pod.restart_cost, Duration{});
    return Duration{ran.ms() - ran.ms() % pod.checkpoint_interval.ms()};
}

void Checker::check_progress(const ClusterState& state) {
    for (const auto& [key, done] : kept_work_) {
        const JobId id = state.jobs.find_job(key);
        if (!id.exists() || state.job(id).holding.pods > 0) continue;
        if (state.run_times.progress_of(state.job(id)) < done) {
            fail("I17",
                 "job " + to_string(key) + ": the work it kept before its preemption is lost");
        }
    }
}

void Checker::forget_progress(const Event& event) {
    if (const auto* pod = std::get_if<PodObserved>(&event)) {
        if (pod->pod.phase != PodPhase::succeeded) return;
        kept_work_.erase(job_of(pod->pod));
        kept_work_when_asked_.erase(job_of(pod->pod));
    } else if (const auto* gone = std::get_if<JobDeleteRequested>(&event)) {
        kept_work_.erase(gone->key);
        kept_work_when_asked_.erase(gone->key);
    } else if (std::holds_alternative<PolicyChanged>(event)) {
        remaining_at_preemption_.clear();  // sizes are computed by another policy now
    }
}

void Checker::check_waiting_marks(const ClusterState& state) {
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const bool waits = job.waiting.in_class.exists() && job.holding.pods == 0;
        if (!waits || job.priority >= kSystemPriority) continue;
        const bool by_run_time =
            preempts_by_remaining_time({state.pool(job.pool).name, state.queue(job.queue).name});
        const PreemptionMode mode =
            by_run_time ? preemption_of(state, job).mode : PreemptionMode::priority;
        check_wait_target(state, job, mode);
        check_doublings(state, job, mode);
    }
}

// The engine knows whether the job nears the wait target.
void Checker::check_wait_target(const ClusterState& state, const JobRow& job, PreemptionMode mode) {
    const Duration target = preemption_of(state, job).wait_target;
    const Duration waits = waited(state, job);
    const bool nears = target > Duration{} && mode == PreemptionMode::shortest &&
                       waits.ms() * 5 >= target.ms() * 4 && waits < target;
    if (nears == job.run.nears_wait_target) return;
    fail("I17", "job " + to_string(job.key) + (nears ? " nears" : " does not near") +
                    " the wait target, and the engine reports the opposite");
}

// The due time of a job with an expected run time was doubled just as often as needed for the job
// to finish within 1.5 times of it. Recounted, with a tolerance of an eighth for the engine's
// rounding of run times.
void Checker::check_doublings(const ClusterState& state, const JobRow& job, PreemptionMode mode) {
    const std::string name = "job " + to_string(job.key);
    const std::int32_t doublings = job.run.lateness.doublings;
    const bool is_asked = mode == PreemptionMode::due;
    if (!is_asked && doublings != 0)
        fail("I17", name + " is late although its queue has no due times");
    if (!is_asked || job.run.time_expected <= Duration{} || doublings == 16) return;
    const std::int64_t percent = preemption_of(state, job).slowdown_percent;
    const std::int64_t whole = job.run.time_expected.ms();
    const std::int64_t takes =
        state.now().ms() - job.submitted_at.ms() + remaining_time(state, job).ms();
    const auto may_take = [percent](std::int64_t run, int times) {
        return (run * percent / 100 << times) * 3 / 2;
    };
    const std::int64_t doubt = percent << doublings;  // rounding of the division
    if (takes > may_take(whole + whole / 8 + 1, doublings) + doubt) {
        fail("I17", name + " cannot finish when it is due");
    }
    if (doublings == 0) return;
    ++probes.late_checked;
    if (takes + doubt < may_take(whole, doublings - 1)) {
        fail("I17", name + " could finish before it is due with one doubling less");
    }
}

// Uids of pods of its queue that the job may preempt for their remaining work.
std::vector<std::string> Checker::jobs_with_more_remaining(const ClusterState& state, JobId id,
                                                           const PodFacts& like) const {
    std::vector<std::string> out;
    const QueueName mine = reference_.queue_of(like);
    if (!preempts_by_remaining_time(mine)) return out;
    const std::string& pool = mine.pool;
    const JobRow& job = state.job(id);
    const bool is_late = lateness(state, job).is_late;
    const Duration unseen{std::max<std::int64_t>(remaining_time(state, job).ms() / 8, 1'000)};
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds() || pod.facts.terminating || reference_.queue_of(pod.facts) != mine)
            continue;
        if (pod.facts.priority > like.priority) continue;
        if (job_of(pod.facts) == job.key) continue;
        if (!unit_may_be_evicted(state, pod, pool)) continue;
        const JobRow& other = state.job(state.jobs.find_job(job_of(pod.facts)));
        // A job that has waited past its patience is not preempted. The remaining work of an
        // overdue job grows with time, and the engine re-evaluates it only when a decision depends
        // on it.
        if (waited(state, other) >= reference_.backfill_of(pool).patience) continue;
        if (state.run_times.progress_of(other) >= other.run.time_expected) continue;
        const Duration looked{remaining_time(state, other).ms() / 60};
        if (lateness(state, other, std::max(unseen, looked)).may_have_to_keep_running) continue;
        if (amounts_of(pod.facts.request).gpus == 0) continue;  // CPU-only
        if (is_late || has_clearly_more_remaining(state, other, pod.facts, job)) out.push_back(uid);
    }
    return out;
}

// With a margin for the cost of preemption and for the pool's gain. `rank`: a pod of the job that
// runs.
bool Checker::has_clearly_more_remaining(const ClusterState& state, const JobRow& runs,
                                         const PodFacts& rank, const JobRow& waits) const {
    const PreemptionPolicy policy = preemption_of(state, waits);
    const Duration lost = state.run_times.progress_of(runs) + rank.restart_cost;
    if (policy.mode != PreemptionMode::due) {
        return running_size(state, policy, runs, lost) >
               waiting_size(state, policy, waits) + 3 * 65'536;
    }
    // The job's progress is that of its first rank; this rank may have run for longer.
    const PodRow& row = state.pod(state.pods.find_pod(rank.uid));
    const Duration ran = state.now() - std::max(row.bind.placed_at, row.facts.started_at);
    return due_between(state, runs, policy).first - (lost + ran).ms() >
           due_between(state, waits, policy).second;
}

}  // namespace gpuctl::sim
