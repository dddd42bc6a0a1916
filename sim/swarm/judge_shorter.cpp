// I17, where long work is stopped for short: clearly more is left of who goes, a job that was
// stopped never stops its stopper, and what it had done counts.

#include <algorithm>

#include "scheduler/policy/work_left.hpp"
#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

Duration time_left(const ClusterState& state, const JobRow& job) {
    WorkLeft left;
    return left.time_left(state, state.question_about(job), state.progress_of(job));
}

// When it is due, recounted: without the engine's steps of run times, and with as much doubt.
std::pair<std::int64_t, std::int64_t> due_between(const ClusterState& state, const JobRow& job,
                                                  std::int64_t percent) {
    const Duration whole = job.run_time_expected > Duration{}
                               ? job.run_time_expected
                               : state.progress_of(job) + time_left(state, job);
    const std::int64_t times = std::int64_t{1} << static_cast<unsigned>(job.lateness.doublings);
    const std::int64_t due = job.submitted_at.ms() + whole.ms() * percent / 100 * times;
    return {due, due + (whole.ms() / 8 * percent / 100 + percent) * times};
}

// Who nears the pool's target for waiting counts for an eighth of what is left of it.
std::int64_t hurry_of(const JobRow& job) { return job.nears_wait_target ? 3 * 65'536 : 0; }

}  // namespace

bool Judge::stops_long_for_short(const QueueName& queue) const {
    return books_.exists(queue) && books_.order_of(queue) == QueueOrder::shortest &&
           books_.preemption_of(queue.pool).stops_by_run_time();
}

// Of one that runs, more than of one that waits: by the books, with time times GPUs.
bool Judge::has_more_left(const ClusterState& state, const JobRow& runs,
                          const JobRow& waits) const {
    WorkLeft left;
    const PreemptionPolicy policy = books_.preemption_of(state.pool(waits.pool).name);
    if (policy.mode == PreemptionMode::due) {
        return due_between(state, runs, policy.slowdown_percent).second >
               due_between(state, waits, policy.slowdown_percent).first;
    }
    return size_log2(policy, time_left(state, runs), state.question_about(runs).gpus) -
               hurry_of(runs) >
           left.of_waiting(state, waits);
}

void Judge::check_shorter(const EvictPod& eviction, const ClusterState& after) {
    const std::string what = "eviction of " + to_string(eviction.pod.key);
    const JobId victim = after.find_job(eviction.job);
    const JobId stopper = after.find_job(eviction.beneficiary);
    if (!victim.exists() || !stopper.exists()) return;
    ++probes.stopped_for_shorter;
    const JobRow& by = after.job(stopper);
    const PreemptionPolicy policy = books_.preemption_of(after.pool(by.pool).name);
    const Duration patience = policy.stops_by_run_time()
                                  ? books_.backfill_of(after.pool(by.pool).name).patience
                                  : Duration{INT64_MAX};
    check_who_goes_on(eviction, after);
    if (after.now() - by.submitted_at - after.progress_of(by) >= patience) return;  // goes first
    if (lateness(after, by).may_be_late) return;                                    // so does that
    if (policy.mode == PreemptionMode::due) ++probes.stopped_for_due;
    if (!has_more_left(after, after.job(victim), after.job(stopper))) {
        fail("I17", what + (policy.mode == PreemptionMode::due
                                ? ": it is due sooner than the job that it is stopped for"
                                : ": less is left of it than of the job that it is stopped for"));
    }
    if (policy.mode == PreemptionMode::due) return;  // a moment does not move
    if (by.nears_wait_target) {                      // for whom less may be left of the other, too
        ++probes.stopped_for_wait_target;
        return;
    }
    // That may turn only when the one was set back or the other has run meanwhile.
    const Duration of_victim = time_left(after, after.job(victim));
    const Duration of_stopper = time_left(after, after.job(stopper));
    const auto before = stopped_for_.find({eviction.job, eviction.beneficiary});
    if (before != stopped_for_.end() && of_victim <= before->second.first &&
        of_stopper >= before->second.second) {
        fail("I17", what + ": for a job that it had stopped itself for having more left");
    }
    stopped_for_[{eviction.beneficiary, eviction.job}] = {of_stopper, of_victim};
}

// What a run had done and kept when it was stopped is not forgotten while its job waits.
void Judge::note_kept(const EvictPod& eviction, const ClusterState& after) {
    const JobId id = after.find_job(eviction.job);
    if (!id.exists() || after.job(id).pods.empty()) return;
    const std::vector<PodId>& pods = after.job(id).pods;
    const auto runs = [&](PodId pod) { return after.pod(pod).standing == PodStanding::bound; };
    if (!std::all_of(pods.begin(), pods.end(), runs)) return;  // it is told by what runs of it
    const PodRow& first = after.pod(pods.front());
    if (first.facts.uid != eviction.pod.uid || first.facts.checkpoint_interval <= Duration{}) {
        return;
    }
    Instant begin = std::max(first.placed_at, first.facts.started_at);
    // Of one that says how fast it is by size every change of size costs a restart: since the last.
    if (is_paced(after.job(id))) begin = std::max(begin, after.job(id).elastic.paced_from);
    const std::int64_t ran =
        std::max(after.now() - begin - first.facts.restart_cost, Duration{}).ms();
    const Duration done{ran - ran % first.facts.checkpoint_interval.ms()};
    asked_kept_[eviction.job] = {eviction.pod.uid, done};
}

void Judge::look_at_progress(const ClusterState& state) {
    for (const auto& [key, kept] : kept_) {
        const JobId id = state.find_job(key);
        if (!id.exists() || state.job(id).pods_held > 0) continue;
        if (state.progress_of(state.job(id)) < kept.done) {
            fail("I17", "job " + to_string(key) + ": what it did before it was stopped is lost");
        }
    }
}

void Judge::forget_progress(const Event& event) {
    if (const auto* pod = std::get_if<PodObserved>(&event)) {
        if (pod->pod.phase != PodPhase::succeeded) return;
        kept_.erase(job_of(pod->pod));
        asked_kept_.erase(job_of(pod->pod));
    } else if (const auto* gone = std::get_if<JobDeleteRequested>(&event)) {
        kept_.erase(gone->key);
        asked_kept_.erase(gone->key);
    } else if (std::holds_alternative<PolicyChanged>(event)) {
        stopped_for_.clear();  // sizes are others now
    }
}

// At a fixed point it is known of each that holds nothing whether it nears the target.
void Judge::look_at_wait_targets(const ClusterState& state) {
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waits_in.exists() || job.pods_held > 0 || job.priority >= kSystemPriority)
            continue;
        const std::string& pool = state.pool(job.pool).name;
        const PreemptionPolicy policy = books_.preemption_of(pool);
        const Duration waited = state.now() - job.submitted_at - state.progress_of(job);
        const Duration target = policy.wait_target;
        const bool nears = target > Duration{} && policy.mode == PreemptionMode::shortest &&
                           stops_long_for_short({pool, state.queue(job.queue).name}) &&
                           waited.ms() * 5 >= target.ms() * 4 && waited < target;
        if (nears != job.nears_wait_target) {
            fail("I17", "job " + to_string(key) + (nears ? " nears" : " does not near") +
                            " the wait target and is taken for another");
        }
    }
}

// At a fixed point it is known of each that holds nothing how often what it is allowed was doubled:
// as often as was needed until it could be done in half as much again, where its user says how long
// it takes. By the books, with an eighth of doubt for the engine's steps of run times.
void Judge::look_at_the_late(const ClusterState& state) {
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waits_in.exists() || job.pods_held > 0 || job.priority >= kSystemPriority)
            continue;
        const std::string& pool = state.pool(job.pool).name;
        const PreemptionPolicy policy = books_.preemption_of(pool);
        const std::int32_t doublings = job.lateness.doublings;
        const bool is_asked = policy.mode == PreemptionMode::due &&
                              stops_long_for_short({pool, state.queue(job.queue).name});
        if (!is_asked && doublings != 0) fail("I17", "job " + to_string(key) + " is late for none");
        if (!is_asked || job.run_time_expected <= Duration{} || doublings == 16) continue;
        const std::int64_t whole = job.run_time_expected.ms();
        const std::int64_t takes =
            state.now().ms() - job.submitted_at.ms() + time_left(state, job).ms();
        const auto may_take = [&](std::int64_t run, int times) {
            return (run * policy.slowdown_percent / 100 << times) * 3 / 2;
        };
        const std::int64_t doubt = policy.slowdown_percent << doublings;  // divided before or after
        if (takes > may_take(whole + whole / 8 + 1, doublings) + doubt) {
            fail("I17", "job " + to_string(key) + " cannot be done when it is due");
        }
        if (doublings == 0) continue;
        ++probes.late_judged;
        if (takes + doubt < may_take(whole, doublings - 1)) {
            fail("I17", "job " + to_string(key) + " could be done sooner than it is due");
        }
    }
}

// Of its own queue, those whom it may have stopped for having more left.
std::vector<std::string> Judge::longer_ones(const ClusterState& state, JobId id,
                                            const PodFacts& like) const {
    std::vector<std::string> out;
    const QueueName mine = books_.queue_of(like);
    if (!stops_long_for_short(mine)) return out;
    const std::string& pool = mine.pool;
    const PreemptionPolicy policy = books_.preemption_of(pool);
    const bool is_late = lateness(state, state.job(id)).is_late;
    const Duration own = time_left(state, state.job(id));
    const Duration unseen{std::max<std::int64_t>(own.ms() / 8, 1'000)};
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.holds() || pod.facts.terminating || books_.queue_of(pod.facts) != mine) continue;
        if (pod.facts.priority > like.priority) continue;
        if (job_of(pod.facts) == state.job(id).key) continue;
        if (!unit_may_be_stopped(state, pod, pool)) continue;
        const JobRow& other = state.job(state.find_job(job_of(pod.facts)));
        // Who has waited long is left alone; of whom nobody knows when it ends more is left with
        // time, and it is looked at again no sooner than that matters.
        const Duration patience = books_.backfill_of(pool).patience;
        if (state.now() - other.submitted_at - state.progress_of(other) >= patience) continue;
        if (state.progress_of(other) >= other.run_time_expected) continue;
        const Duration looked{time_left(state, other).ms() / 60};
        if (lateness(state, other, std::max(unseen, looked)).may_go_on) continue;
        if (amounts_of(pod.facts.request).gpus == 0) continue;  // it keeps nobody from a GPU
        if (is_late) out.push_back(uid);
        if (is_late) continue;
        // A margin for what stopping costs and for the pool's gain.
        WorkLeft left;
        Duration lost = state.progress_of(other) + pod.facts.restart_cost;
        if (policy.mode == PreemptionMode::due) {
            const std::int64_t other_due = due_between(state, other, policy.slowdown_percent).first;
            const JobRow& waits = state.job(id);
            // Its first rank speaks for the job; this one may have run for longer.
            const PodRow& row = state.pod(state.find_pod(uid));
            lost = lost + (state.now() - std::max(row.placed_at, row.facts.started_at));
            const std::int64_t due = due_between(state, waits, policy.slowdown_percent).second;
            if (other_due - lost.ms() > due) out.push_back(uid);
            continue;
        }
        const std::int64_t size =
            size_log2(policy, time_left(state, other) - lost, state.question_about(other).gpus) -
            hurry_of(other);
        if (size > left.of_waiting(state, state.job(id)) + 3 * 65'536) out.push_back(uid);
    }
    return out;
}

}  // namespace gpuctl::sim
