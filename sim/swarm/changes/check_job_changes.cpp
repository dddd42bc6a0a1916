// I26: changes and pauses of jobs.

#include <utility>

#include "sim/swarm/changes/change_checks.hpp"

namespace gpuctl::sim {
namespace {

// Bound, and not about to go for another reason than a pause.
bool leaves_a_seat(const ClusterState& state, const PodRow& pod) {
    return pod.job.exists() && pod.bind.state == BindState::bound && !pod.bind.delete_in_flight &&
           !pod.is_surplus && pod.eviction.state == EvictionState::none &&
           state.node(pod.node).known;
}

bool takes_changes_now(const JobRow& job) {
    const WorkloadRow& workload = job.workload;
    const bool has_ended = workload.facts && (workload.facts->phase == WorkloadPhase::complete ||
                                              workload.facts->phase == WorkloadPhase::failed);
    return job.record && workload.state == WorkloadState::created && !workload.due &&
           !workload.in_flight && !has_ended && job.retention.phase() == RetentionPhase::open;
}

}  // namespace

void ChangeChecks::observe(const Engine& engine, const Input& input,
                           const std::vector<Effect>& effects) {
    const ClusterState& after = engine.state();
    const Event& event = input.event;
    check_seats(input, after);
    check_revisions(event, after);
    if (const auto* change = std::get_if<JobUpdated>(&event)) check_change(*change, after);
    if (const auto* outcome = std::get_if<WorkloadOutcome>(&event)) check_refused(*outcome, after);
    record_node(event);
    if (const auto* asked = std::get_if<NodeChangeRequested>(&event)) record_request(*asked);
    if (const auto* answer = std::get_if<NodeChangeOutcome>(&event)) record_answer(*answer);
    if (const auto* term = std::get_if<LeadershipChanged>(&event)) {
        leading_ = term->leading;
        if (leading_) begin_term(input.now);
    }
    for (const Effect& effect : effects) {
        if (const auto* bind = std::get_if<BindPod>(&effect)) check_bind(*bind, after);
        if (const auto* sent = std::get_if<ChangeNode>(&effect)) record_sent(*sent);
    }
    check_open(after);
    check_objects(event, after);
    remember_jobs(after);
}

// Binds that were sent before the pause are only repeated.
void ChangeChecks::check_bind(const BindPod& bind, const ClusterState& after) {
    if (assumed_.contains(bind.pod.uid)) return;
    const PodId pod = after.pods.find_pod(bind.pod.uid);
    if (!pod.exists() || !after.pod(pod).job.exists()) return;
    const auto before = jobs_.find(after.job(after.pod(pod).job).key);
    if (before != jobs_.end() && before->second.is_paused)
        fail("I26", "pod " + bind.pod.uid + " of a paused job is bound");
}

// A pod of a paused job that goes leaves one seat, and no other input adds seats.
void ChangeChecks::check_seats(const Input& input, const ClusterState& after) {
    std::string uid;
    bool has_finished = false;
    if (const auto* removed = std::get_if<PodRemoved>(&input.event)) uid = removed->uid;
    if (const auto* seen = std::get_if<PodObserved>(&input.event);
        seen != nullptr && is_terminal(seen->pod.phase)) {
        uid = seen->pod.uid;
        has_finished = seen->pod.phase == PodPhase::succeeded && !seen->pod.terminating;
    }
    const auto of = bound_.find(uid);
    for (const auto& [key, before] : jobs_) {
        const JobId id = after.jobs.find_job(key);
        if (!id.exists()) continue;
        const JobRow& job = after.job(id);
        const std::size_t seats = job.seats.size();
        const bool is_of_it = of != bound_.end() && of->second == key;
        if (before.keeps && is_of_it && !has_finished) {
            ++probes_.seats_left;
            if (seats != before.seats + 1)
                fail("I26", "paused job " + to_string(key) + " loses the room of a pod");
        } else if (seats > before.seats) {
            fail("I26", "job " + to_string(key) + " has a seat for no pod");
        }
        if (job.nomination.exists() && seats < before.seats) ++probes_.seats_used;
    }
}

// Only a change of the job raises its revision.
void ChangeChecks::check_revisions(const Event& event, const ClusterState& after) {
    const auto* change = std::get_if<JobUpdated>(&event);
    for (const auto& [key, before] : jobs_) {
        const JobId id = after.jobs.find_job(key);
        if (!id.exists() || !before.record || !after.job(id).record) continue;
        const JobRow& job = after.job(id);
        const bool is_meant = change != nullptr && change->key == key;
        if (is_meant || job.record->uid != before.record->uid) continue;
        if (job.change.revision != before.revision)
            fail("I26", "job " + to_string(key) + " has another revision without a change");
    }
}

void ChangeChecks::check_change(const JobUpdated& change, const ClusterState& after) {
    const auto known = jobs_.find(change.key);
    const JobId id = after.jobs.find_job(change.key);
    if (known == jobs_.end() || !id.exists() || !known->second.record) return;
    const KnownJob& before = known->second;
    const JobRow& job = after.job(id);
    const std::string what =
        std::string{to_string(change.change.kind)} + " of job " + to_string(change.key);
    const bool is_other = !change.uid.empty() && change.uid != before.record->uid;
    const bool is_stale = change.revision != 0 && change.revision != before.revision + 1;
    const bool is_no_service = change.change.kind == JobChangeKind::scale && !before.is_service;
    const bool is_early = !before.takes_changes;
    const bool is_accepted = job.change.revision != before.revision;
    if (is_other) ++probes_.changes_of_other_jobs;
    if (!is_other && is_stale) ++probes_.changes_stale;
    if (!is_other && !is_stale && is_early) ++probes_.changes_too_early;
    if (!is_accepted && !is_other && !is_stale && !is_early && !is_no_service)
        return fail("I26", what + " is ignored");
    if (!is_accepted) return;
    ++probes_.changes_accepted;
    if (is_other) fail("I26", what + " is accepted, and was meant for another job");
    if (is_stale) fail("I26", what + " is accepted, and the job was changed meanwhile");
    if (is_early) fail("I26", what + " is accepted before the change before it was carried out");
    if (is_no_service) fail("I26", what + " is accepted");
    if (job.change.revision != before.revision + 1) fail("I26", what + " counts more than once");
    check_accepted(change, before, job);
}

void ChangeChecks::check_accepted(const JobUpdated& change, const KnownJob& before,
                                  const JobRow& job) {
    const std::string what =
        std::string{to_string(change.change.kind)} + " of job " + to_string(change.key);
    const JobRecord& record = *job.record;
    switch (change.change.kind) {
        case JobChangeKind::apply:
            if (record != *change.change.record) fail("I26", what + " is accepted, not made");
            checker_.record_change(record.spec, record.uid != before.record->uid);
            break;
        case JobChangeKind::scale: {
            JobSpec expected = before.record->spec;
            expected.service.replicas = change.change.replicas;
            expected.replicas_min = expected.replicas_max = change.change.replicas;
            if (record.spec != expected) fail("I26", what + " changes something else");
            checker_.record_change(record.spec, false);
            break;
        }
        case JobChangeKind::pause:
            if (!Seats::is_paused(job)) fail("I26", what + " is accepted, and it is not paused");
            if (change.change.releases && !job.seats.empty())
                fail("I26", what + " releases its room, and keeps some");
            break;
        case JobChangeKind::resume:
            if (Seats::is_paused(job)) fail("I26", what + " is accepted, and it is paused");
            if (job.seats.size() != before.seats && !job.nomination.exists())
                fail("I26", what + " loses the room that it kept");
    }
    const bool is_same =
        change.change.kind == JobChangeKind::pause || change.change.kind == JobChangeKind::resume;
    if (is_same && record != *before.record) fail("I26", what + " changes what it is");
}

// A change that the cluster refuses for good is undone.
void ChangeChecks::check_refused(const WorkloadOutcome& outcome, const ClusterState& after) {
    const auto known = jobs_.find(outcome.key);
    const JobId id = after.jobs.find_job(outcome.key);
    if (known == jobs_.end() || !id.exists() || outcome.done || outcome.retryable) return;
    const KnownJob& before = known->second;
    const JobRow& job = after.job(id);
    const bool is_its = before.before && before.effect == outcome.effect && job.record &&
                        job.workload.state == WorkloadState::created;
    if (!is_its) return;
    ++probes_.changes_forbidden;
    if (*job.record != *before.before)
        fail("I26", "job " + to_string(outcome.key) + " stays changed although it is forbidden");
    if (Seats::is_paused(job) != before.was_paused)
        fail("I26", "the pause of job " + to_string(outcome.key) + " is not undone");
}

void ChangeChecks::remember_jobs(const ClusterState& state) {
    jobs_.clear();
    bound_.clear();
    assumed_.clear();
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        KnownJob& known = jobs_[key];
        known.revision = job.change.revision;
        known.is_paused = Seats::is_paused(job);
        known.keeps =
            known.is_paused && !job.pause.releases && job.workload.state == WorkloadState::created;
        known.seats = job.seats.size();
        known.takes_changes = takes_changes_now(job);
        known.record = job.record;
        if (job.record) {
            const JobKind kind = job.record->spec.kind;
            known.is_service = kind == JobKind::inference || kind == JobKind::compute;
        }
        if (job.change.before && job.workload.in_flight && !job.workload.due) {
            known.before = job.change.before;
            known.was_paused = job.change.was_paused;
            known.effect = job.workload.effect;
        }
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            if (row.bind.state == BindState::assumed) assumed_.insert(row.facts.uid);
            if (leaves_a_seat(state, row)) bound_[row.facts.uid] = key;
        }
    }
}

void ChangeChecks::compare_jobs(const ClusterState& state, const Cluster& cluster) {
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const bool is_open = job.workload.due || job.workload.in_flight;
        if (job.change.revision == 0 || is_open || !job.record) continue;
        if (job.workload.state != WorkloadState::created) continue;
        const Workload* object = cluster.find_workload(key);
        if (object == nullptr || object->finished || object->deleted) continue;
        ++probes_.changes_compared;
        const std::string what = "job " + to_string(key) + " was changed, and its object ";
        if (object->job.uid != job.record->uid) {
            fail("I26", what + "is that of another job");
        } else if (object->job.spec != job.record->spec) {
            fail("I26", what + "has other contents");
        } else if (object->paused != Seats::is_paused(job)) {
            fail("I26", what + (object->paused ? "is paused" : "runs"));
        }
    }
}

}  // namespace gpuctl::sim
