// I23: which finished jobs are kept, and in which detail, recounted from the reported events.

#include <algorithm>
#include <set>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::record_workloads(const Event& event) {
    if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
        const JobSpec& spec = submitted->job.spec;
        if (!summaries_.contains(spec.key)) known_jobs_[spec.key] = {spec.replicas_max, false, {}};
    } else if (const auto* observed = std::get_if<WorkloadObserved>(&event)) {
        known_jobs_[observed->workload.key].phase = observed->workload.phase;
    } else if (const auto* outcome = std::get_if<WorkloadOutcome>(&event)) {
        const bool is_final =
            !outcome->done && !outcome->retryable && !updates_.contains(outcome->effect);
        if (is_final) known_jobs_[outcome->key].is_refused = true;
    }
}

// True if its controller creates no more pods.
bool Checker::is_over(const ObjectKey& job) const {
    const auto known = known_jobs_.find(job);
    if (known == known_jobs_.end()) return false;
    const bool has_ended = known->second.phase == WorkloadPhase::complete ||
                           known->second.phase == WorkloadPhase::failed;
    if (known->second.is_refused || has_ended) return true;
    const auto pods = reference_.jobs.find(job);
    std::set<std::int32_t> ranks;
    for (const std::string& uid :
         pods == reference_.jobs.end() ? std::set<std::string>{} : pods->second) {
        const PodFacts& pod = reference_.pods.at(uid).facts;
        if (pod.phase == PodPhase::succeeded) ranks.insert(pod.rank);
    }
    return std::ssize(ranks) >= known->second.ranks;
}

Instant Checker::end_of_job(const ObjectKey& job) const {
    const auto pods = reference_.jobs.find(job);
    Instant last;
    if (pods == reference_.jobs.end()) return last;
    for (const std::string& uid : pods->second) {
        last = std::max(last, reference_.pods.at(uid).facts.finished_at);
    }
    return std::min(last, reference_.now);
}

void Checker::check_summarized(const DropDetails& drop, const ClusterState& after) {
    ++probes.jobs_summarized;
    const std::string name = "job " + to_string(drop.job);
    const auto pods = reference_.jobs.find(drop.job);
    if (pods != reference_.jobs.end()) {
        for (const std::string& uid : pods->second) {
            if (is_terminal(reference_.pods.at(uid).facts.phase)) continue;
            fail("I23", name + " is summarized and its pod " + uid + " has not ended");
        }
    }
    if (drop.job_uid.empty()) return;  // pods reported again after the job was removed
    if (!is_over(drop.job))
        fail("I23", name + " is summarized and its controller still creates pods");
    const Instant end = end_of_job(drop.job);
    if (!end.happened()) return;  // never created, or its pods are gone
    const Policy& policy = reference_.policy;
    const std::int32_t in_full =
        std::min(policy.finished_jobs_detailed, policy.finished_jobs_maximum);
    const auto& others = after.jobs.finished_jobs().in_full();
    if (std::ssize(others) < in_full && end + policy.finished_jobs_kept_for > reference_.now) {
        fail("I23", name + " is summarized and could be kept in full");
    }
    for (const auto& [ended_at, arrival, id] : others) {
        const Instant other = end_of_job(after.job(id).key);
        if (other.happened() && other < end) {
            fail("I23", name + " is summarized before " + to_string(after.job(id).key) +
                            ", which ended before it");
        }
    }
}

void Checker::check_removed(const ObjectKey& job, Instant ended, const ClusterState& after) {
    ++probes.jobs_removed;
    removed_jobs_.insert(job);
    const std::string name = "finished job " + to_string(job);
    const Policy& policy = reference_.policy;
    const bool is_too_old = ended + policy.finished_jobs_kept_for <= reference_.now;
    if (std::ssize(after.jobs.finished_jobs().by_key()) +
                std::ssize(after.jobs.finished_jobs().in_full()) <
            policy.finished_jobs_maximum &&
        !is_too_old) {
        fail("I23", name + " is removed and could be kept");
    }
    for (const auto& [key, summary] : after.jobs.finished_jobs().by_key()) {
        if (summary.ended_at < ended) {
            fail("I23", name + " is removed before " + to_string(key) + ", which ended before it");
        }
    }
}

void Checker::check_finished(const Event& event, const std::vector<Effect>& effects,
                             const ClusterState& after) {
    std::map<ObjectKey, KnownSummary> expected = summaries_;
    const auto* observed = std::get_if<PodObserved>(&event);
    const ObjectKey of_pod = observed != nullptr ? job_of(observed->pod) : ObjectKey{};
    if (summaries_.contains(of_pod)) {
        ++probes.ends_reported_again;
        if (after.jobs.find_job(of_pod).exists() && is_terminal(observed->pod.phase)) {
            fail("I23", "a pod that ended long ago makes " + to_string(of_pod) + " a job again");
        }
    }
    for (const Effect& effect : effects) {
        if (const auto* drop = std::get_if<DropDetails>(&effect)) {
            check_summarized(*drop, after);
            expected[drop->job] = {end_of_job(drop->job), !drop->job_uid.empty()};
            reference_.drop(*drop);
        } else if (const auto* creation = std::get_if<CreateWorkload>(&effect)) {
            const FinishedJob* summary = after.jobs.finished_jobs().find(creation->job->spec.key);
            const bool was_kept = summaries_.contains(creation->job->spec.key);
            const bool is_free = known_jobs_[creation->job->spec.key].is_refused;
            if (summary != nullptr || (was_kept && !is_free)) {
                fail("I23", "a new job reuses the name of the finished " +
                                to_string(creation->job->spec.key));
            }
        }
    }
    const auto* deleted = std::get_if<JobDeleteRequested>(&event);
    const auto* gone = std::get_if<WorkloadRemoved>(&event);
    const auto* unmade = std::get_if<JobSubmitted>(&event);
    for (const auto& [key, summary] : expected) {
        if (after.jobs.finished_jobs().find(key) != nullptr) continue;
        if (after.jobs.find_job(key).exists())
            continue;  // deleted, or reported again: checked above
        const bool is_asked =
            (deleted != nullptr && deleted->key == key) || (gone != nullptr && gone->key == key) ||
            (unmade != nullptr && unmade->job.spec.key == key && known_jobs_[key].is_refused);
        const bool has_no_pods = std::holds_alternative<PodRemoved>(event) && !summary.is_ours;
        const Instant ended = summary.ended_at;
        if (!is_asked && !has_no_pods && ended.happened()) check_removed(key, ended, after);
        if (!ended.happened()) removed_jobs_.insert(key);
    }
    summaries_.clear();
    for (const auto& [key, job] : after.jobs.finished_jobs().by_key()) {
        const auto known = expected.find(key);
        if (known == expected.end()) {
            fail("I23", "a summary of job " + to_string(key) + " was not expected");
        }
        summaries_[key] = {job.ended_at, !job.uid.empty()};
    }
}

}  // namespace gpuctl::sim
