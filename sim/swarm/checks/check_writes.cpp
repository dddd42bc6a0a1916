// I2, I3 and I4 of all other writes: fencing, one write per workload at a time, gangs whole or
// rolled back.

#include <algorithm>
#include <utility>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

// I2: only the leader writes, with its epoch, and with a new number for each effect.
void Checker::check_may_write(EffectId effect, Epoch epoch, const std::string& what) {
    if (!reference_.leading) fail("I2", what + " although gpuctld is not the leader");
    if (epoch != reference_.epoch) fail("I2", what + " carries the epoch of another term");
    if (effect <= effect_last_) fail("I2", what + " reuses the number of an effect");
    effect_last_ = std::max(effect_last_, effect);
}

// I4: the placed ranks complete their gang.
void Checker::check_gangs(const std::vector<PlacedJob>& placed_jobs) {
    for (const PlacedJob& placed_job : placed_jobs) {
        check_topology(placed_job);
        check_model_of_gang(placed_job);
        if (!placed_job.gang) continue;
        const Gang gang = reference_.gang_of(placed_job.job);
        if (!gang.is_whole()) {
            fail("I4", "gang " + to_string(placed_job.job) + " was placed with " +
                           std::to_string(gang.held) + " of " + std::to_string(gang.size) +
                           " ranks, or without one of its roles");
        }
    }
}

void Checker::check_delete(const DeletePod& deletion) {
    const std::string what = "deletion of " + to_string(deletion.pod.key);
    check_may_write(deletion.id, deletion.epoch, what);
    const auto found = reference_.pods.find(deletion.pod.uid);
    if (found == reference_.pods.end()) return;
    ReferencePod& pod = found->second;
    if (!pod.facts.has_controller) fail("I4", what + ": no controller would recreate it");
    if (pod.deleting) return;  // sent again in a new term
    const Gang gang = reference_.gang_of(job_of(pod.facts));
    if (gang.size == 0) fail("I4", what + ": it is in no gang");
    if (started_.contains(job_of(pod.facts))) {
        fail("I4", what + ": its gang was complete once and must not be rolled back");
    }
    pod.deleting = true;
    rolled_back_.insert(job_of(pod.facts));
}

// I4: a roll-back deletes every rank of the gang. Deletions that are repeated in a new term are
// left out: a refused deletion waits for its backoff.
void Checker::check_rollbacks() {
    for (const ObjectKey& job : std::exchange(rolled_back_, {})) {
        if (reference_.gang_of(job).bound > 0) {
            fail("I4", "the roll-back of gang " + to_string(job) + " leaves ranks behind");
        }
    }
}

void Checker::check_started(const ReportStarted& report) {
    const Gang gang = reference_.gang_of(report.job);
    if (report.waited < Duration{0})
        fail("I15", to_string(report.job) + " is reported with a negative wait");
    for (std::size_t i = 0; i < report.pods.size(); ++i) {
        const auto found = reference_.pods.find(report.pods[i].uid);
        if (found == reference_.pods.end()) continue;
        const ReferencePod& pod = found->second;
        if (pod.where() != report.nodes[i] || pod.open || pod.reserved) {
            fail("I15", "pod " + to_string(report.pods[i].key) + " is reported on " +
                            report.nodes[i] + " and is not bound there");
        }
    }
    if (gang.size == 0) return;
    if (!started_.contains(report.job) && !gang.is_whole()) {
        fail("I4", "gang " + to_string(report.job) + " is reported as started and is not complete");
    }
    const bool is_first = !started_.contains(report.job);
    if (is_first && !gang.minimum_of_role.empty()) ++probes.gangs_with_roles;
    if (is_first && gang.size > 1) ++probes.gangs_started;
    started_.insert(report.job);
}

// I3: there is one write per job's workload at a time, so that no write overtakes another.
void Checker::check_workload(const ObjectKey& job, EffectId effect, Epoch epoch) {
    check_may_write(effect, epoch, "workload of " + to_string(job));
    if (workloads_open_.contains(job)) {
        fail("I3", "two writes of the workload of " + to_string(job) + " are in flight");
    }
    workloads_open_[job] = effect;
}

void Checker::close_workload(const Event& event) {
    if (const auto* term = std::get_if<LeadershipChanged>(&event)) {
        if (term->leading) workloads_open_.clear();  // sent again in the new term
    } else if (const auto* outcome = std::get_if<WorkloadOutcome>(&event)) {
        const auto open = workloads_open_.find(outcome->key);
        if (!outcome->done) ++probes.creates_failed;
        if (open != workloads_open_.end() && open->second == outcome->effect) {
            workloads_open_.erase(open);
        }
    } else if (const auto* deletion = std::get_if<PodDeleteOutcome>(&event)) {
        if (!deletion->deleted) ++probes.deletes_failed;
    }
}

}  // namespace gpuctl::sim
