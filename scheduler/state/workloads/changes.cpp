// Changes of submitted jobs by their users (docs/adr/0043): other contents, another number of
// replicas, pauses. The record changes at once; UpdateWorkload makes the object follow, and a
// change that the cluster refuses for good is undone.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/workloads/check_change.hpp"

namespace gpuctl {
namespace {

bool is_service(const JobRow& job) {
    const JobKind kind = job.record->spec.kind;
    return kind == JobKind::inference || kind == JobKind::compute;
}

bool has_other_sizes(const JobSpec& a, const JobSpec& b) {
    return a.kind != b.kind || a.replicas_min != b.replicas_min || a.replicas_max != b.replicas_max;
}

}  // namespace

ChangeRefusal check_change(const ClusterState& state, const JobUpdated& event) {
    const JobId id = state.jobs.find_job(event.key);
    const bool has_summary = state.jobs.finished_jobs().find(event.key) != nullptr;
    if (!id.exists()) return {has_summary ? ChangeBar::ended : ChangeBar::unknown, 0, ""};
    const JobRow& job = state.jobs.rows()[id.value()];
    ChangeRefusal out{ChangeBar::none, job.change.revision + 1, ""};
    const auto refuse = [&out](ChangeBar bar) {
        out.bar = bar;
        return out;
    };
    if (!job.record) return refuse(ChangeBar::not_made_here);
    const WorkloadRow& workload = job.workload;
    const bool is_other = !event.uid.empty() && job.record->uid != event.uid;
    if (is_other && !has_fault(SeededFault::take_changes_of_other_jobs))
        return refuse(ChangeBar::other_job);
    if (workload.state == WorkloadState::deleting) return refuse(ChangeBar::deleting);
    if (workload.state == WorkloadState::failed) {
        out.message = workload.message;
        return refuse(ChangeBar::never_made);
    }
    const bool has_ended = workload.facts && (workload.facts->phase == WorkloadPhase::complete ||
                                              workload.facts->phase == WorkloadPhase::failed);
    if (has_ended || job.retention.phase() != RetentionPhase::open) return refuse(ChangeBar::ended);
    const bool is_stale = event.revision != 0 && event.revision != out.revision;
    if (is_stale && !has_fault(SeededFault::take_stale_changes)) return refuse(ChangeBar::stale);
    if (workload.state != WorkloadState::created || workload.due || workload.in_flight)
        return refuse(ChangeBar::busy);
    if (event.change.kind == JobChangeKind::scale && !is_service(job))
        return refuse(ChangeBar::no_replicas);
    const bool is_empty = event.change.kind == JobChangeKind::apply && !event.change.record;
    return is_empty ? refuse(ChangeBar::unknown) : out;
}

void Workloads::on(const JobUpdated& event, EffectList& effects) {
    if (!gpuctl::check_change(state_, event).is_accepted()) return;
    const JobId id = state_.jobs.find_job(event.key);
    const JobRow& job = state_.jobs.rows()[id.value()];
    ChangeRow& change = state_.jobs.rows().change(id, {});
    ++change.revision;
    change.before = job.record;
    change.was_paused = Seats::is_paused(job);
    change.part = WorkloadPart::size;
    switch (event.change.kind) {
        case JobChangeKind::apply:
            apply(id, event.change);
            change.part = WorkloadPart::whole;
            break;
        case JobChangeKind::scale:
            scale(id, event.change);
            break;
        case JobChangeKind::pause:
            state_.seats.pause(id, event.change.releases);
            break;
        case JobChangeKind::resume:
            state_.seats.resume(id);
            break;
    }
    WorkloadRow& workload = state_.jobs.rows().workload(id, {});
    workload.failures = 0;
    workload.not_before = Instant{};
    workload.message.clear();
    // A pause that only releases the room of an earlier one changes nothing of the object.
    const bool is_known = event.change.kind == JobChangeKind::pause && change.was_paused;
    if (is_known) {
        change.part = WorkloadPart::none;
        change.before.reset();
    }
    workload.due = !is_known;
    state_.jobs.mark_dirty(id);
    send_workload(id, effects);
}

void Workloads::apply(JobId id, const JobChange& change) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    const bool is_again = change.record->uid != job.record->uid;
    take_record(id, *change.record);
    if (!is_again) return;
    // Another object: what the watch said of the former one counts no longer.
    state_.seats.forget(id);
    (void)state_.gangs.take_finished(id);
    state_.jobs.rows().workload(id, {}).facts.reset();
}

void Workloads::take_record(JobId id, const JobRecord& record) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    const bool has_other_size =
        has_other_sizes(job.record->spec, record.spec) || job.record->uid != record.uid;
    state_.jobs.set_record(id, record, Instant{});
    state_.jobs.set_route(id, record.spec.pool, record.spec.queue);
    state_.jobs.move_to(id, job.pool, job.queue, priority_value(record.spec.priority));
    state_.jobs.resolve(id);
    if (has_other_size) state_.elastic.begin_size(id);
    state_.jobs.mark_dirty(id);
}

void Workloads::scale(JobId id, const JobChange& change) {
    JobRecord record = *state_.jobs.rows()[id.value()].record;
    const std::int32_t replicas = change.replicas;
    if (change.record) record.source = change.record->source;
    record.spec.service.replicas = replicas;
    record.spec.replicas_min = record.spec.replicas_max = replicas;
    state_.jobs.set_record(id, record, Instant{});
}

// The object is as it was. The revision stays: what was read before the change is stale.
void Workloads::undo_change(JobId id) {
    ChangeRow& change = state_.jobs.rows().change(id, {});
    change.part = WorkloadPart::none;
    if (!change.before || has_fault(SeededFault::keep_refused_changes)) return;
    state_.jobs.rows().workload(id, {}).message.clear();  // the job is not in trouble
    const JobRecord before = *change.before;
    change.before.reset();
    take_record(id, before);
    state_.seats.undo(id, change.was_paused);
}

}  // namespace gpuctl
