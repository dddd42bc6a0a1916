#include "scheduler/state/image/pairs.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {
namespace {

// One list for both directions.
template <typename Image, typename Row, typename Copy>
void pair_job(Image& image, Row& row, Copy copy) {
    copy(image.key, row.key);
    copy(image.arrival, row.arrival);
    copy(image.submitted_at, row.submitted_at);
    copy(image.pool_wanted, row.pool_wanted);
    copy(image.queue_wanted, row.queue_wanted);
    copy(image.priority, row.priority);
    copy(image.record, row.record);
    copy(image.workload, row.workload.state);
    copy(image.workload_due, row.workload.due);
    copy(image.workload_in_flight, row.workload.in_flight);
    copy(image.create_deadline, row.workload.create_deadline);
    copy(image.create_lands_until, row.workload.create_lands_until);
    copy(image.force_delete, row.workload.force_delete);
    copy(image.workload_effect, row.workload.effect);
    copy(image.workload_failures, row.workload.failures);
    copy(image.workload_not_before, row.workload.not_before);
    copy(image.message, row.workload.message);
    copy(image.workload_facts, row.workload.facts);
    copy(image.gang_attempt, row.gang.attempt);
    copy(image.finished, row.gang.finished);
    if (!has_fault(SeededFault::forget_started_gangs_on_disk))
        copy(image.gang_started, row.gang.started);
    if (!has_fault(SeededFault::forget_stranded_gangs_on_disk))
        copy(image.short_since, row.gang.short_since);
    copy(image.is_stranded, row.gang.is_stranded);
    copy(image.nears_wait_target, row.run.nears_wait_target);
    copy(image.lateness, row.run.lateness);
    copy(image.gang_deadline, row.gang.deadline);
    copy(image.member_refused, row.gang.member_refused);
    copy(image.bind_failures, row.binding.failures);
    copy(image.not_before, row.binding.not_before);
    copy(image.reported, row.report.fingerprint);
    copy(image.reported_reason, row.report.reason);
    copy(image.started_at, row.run.started_at);
    copy(image.earlier_runs_until, row.run.earlier_runs_until);
    copy(image.finished_at, row.run.finished_at);
    copy(image.last_phase, row.run.last_phase);
    copy(image.claim_until, row.nomination.until);
    copy(image.claim_pods, row.nomination.pods);
    copy(image.victims, row.nomination.victims);
    copy(image.victim_refused, row.nomination.victim_refused);
    copy(image.eviction_failures, row.nomination.eviction_failures);
    copy(image.evict_again_at, row.nomination.evict_again_at);
    copy(image.elastic, row.elastic);
    copy(image.timer_at, row.timer_at);
    copy(image.is_long, row.run.is_long);
    copy(image.is_dirty, row.is_dirty);
}

template <typename Image, typename Row, typename Copy>
void pair_pod(Image& image, Row& row, Copy copy) {
    copy(image.facts, row.facts);
    copy(image.standing, row.bind.state);
    copy(image.bar, row.bind.bar);
    copy(image.in_flight, row.bind.in_flight);
    copy(image.delete_in_flight, row.bind.delete_in_flight);
    copy(image.start_reported, row.report.start_reported);
    copy(image.eviction, row.eviction.state);
    copy(image.evict_effect, row.eviction.effect);
    copy(image.evicted_for, row.eviction.preemptor);
    copy(image.eviction_request, row.eviction.request);
    if (!has_fault(SeededFault::forget_evictions_on_disk))
        copy(image.evicted_at, row.eviction.evicted_at);
    copy(image.spared_until, row.eviction.spared_until);
    copy(image.barred_until, row.bind.barred_until);
    copy(image.effect, row.bind.effect);
    copy(image.bind_deadline, row.bind.deadline);
    copy(image.unsure_until, row.bind.unsure_until);
    copy(image.placed_at, row.bind.placed_at);
    copy(image.seen_at, row.seen_at);
    copy(image.leaves_at, row.leaves_at);
    copy(image.reported, row.report.fingerprint);
    copy(image.message, row.message);
}

constexpr auto kToImage = [](auto& image, const auto& row) { image = row; };
constexpr auto kToRow = [](const auto& image, auto& row) { row = image; };

}  // namespace

void copy_row(const JobRow& row, JobImage& image) { pair_job(image, row, kToImage); }
void copy_row(const PodRow& row, PodImage& image) { pair_pod(image, row, kToImage); }
void copy_image(const JobImage& image, JobRow& row) { pair_job(image, row, kToRow); }
void copy_image(const PodImage& image, PodRow& row) { pair_pod(image, row, kToRow); }

}  // namespace gpuctl
