#include "scheduler/state/image/state_reader.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/image/pairs.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {
namespace {

// More slots than this are a sign of damage.
constexpr std::uint32_t kSlotsMax = 1U << 22;

Error damaged(const std::string& what) {
    return make_error(ErrorCode::JournalDamaged, "state image: " + what);
}

bool is_plausible(const PodImage& pod) {
    return pod.standing <= BindState::seat && pod.bar <= PodBar::refused &&
           pod.eviction <= EvictionState::accepted && pod.facts.phase <= PodPhase::failed;
}

bool is_plausible(const FinishedJob& job) {
    return job.kind <= JobKind::compute && (!job.run || job.run->last_phase <= PodPhase::failed) &&
           job.ended_at.happened() && job.pods >= 0;
}

bool is_plausible(const JobImage& job) {
    return (!job.workload_facts || job.workload_facts->phase <= WorkloadPhase::failed) &&
           job.workload <= WorkloadState::deleting && job.last_phase <= PodPhase::failed &&
           static_cast<std::size_t>(job.reported_reason) < kReasons.size() &&
           static_cast<std::size_t>(job.block_reason) < kReasons.size() &&
           (!job.record || job.record->spec.kind <= JobKind::compute) && job.elastic.size >= 0 &&
           job.elastic.wanted >= 0;
}

bool is_plausible(const UsageImage& usage, Duration half_life) {
    const auto within = [](const UsageAmounts& amounts, std::int64_t most) {
        return std::all_of(amounts.begin(), amounts.end(),
                           [most](std::int64_t one) { return one >= 0 && one <= most; });
    };
    return within(usage.mean, kUsageAmountMaximum * kUsageUnit) &&
           within(usage.sum, kUsageAmountMaximum * tick_ms(half_life));
}

}  // namespace

Result<bool> StateReader::read() {
    if (image_.version != 1) {
        return damaged("version " + std::to_string(image_.version) + " is not known");
    }
    state_.session.restore_time(image_.now, {});
    if (const auto done = read_policy_and_notes(); !done) return done.error();
    if (const auto done = read_nodes(); !done) return done.error();
    if (const auto done = read_jobs(); !done) return done.error();
    if (const auto done = read_pods(); !done) return done.error();
    state_.pods.restore_late(image_.now, {});
    if (const auto done = state_.run_times.restore_run_times(image_, {}); !done) {
        return done.error();
    }
    read_reservations();
    settle_jobs();
    read_refusals();
    if (const auto done = read_ended_jobs(); !done) return done.error();
    if (const auto done = read_usage(); !done) return done.error();
    if (!state_.signals.restore(image_.signals, {})) return damaged("a signal is of no job");
    if (!state_.policy_objects.restore(std::move(image_.policy_objects), {})) {
        return damaged("an object of the policy is not one");
    }
    if (!state_.node_changes.restore(std::move(image_.node_changes), {})) {
        return damaged("two changes of a node are carried out at the same time");
    }
    state_.session.restore(image_, {});
    state_.jobs.restore_next_arrival(image_.next_arrival, {});
    state_.maintenance.restore_clock(image_.calendar, {});
    return true;
}

Result<bool> StateReader::read_policy_and_notes() {
    QueueTree& tree = state_.tree;
    for (const std::string& pool : image_.pools) (void)tree.pool_named(pool);
    tree.take_policy(std::move(image_.policy));
    state_.gangs.restore_sizes(std::move(image_.gang_sizes), {});
    state_.nodes.restore_outside(std::move(image_.gang_notes), std::move(image_.device_classes),
                                 {});
    state_.jobs.restore_finished_ranks(std::move(image_.finished), {});
    for (const auto& [key, churn] : image_.churn) {
        const bool is_one =
            !churn.evicted_at.empty() &&
            std::none_of(churn.vacancies.begin(), churn.vacancies.end(),
                         [](const Vacancy& place) { return place.evicted_at.empty(); });
        if (!is_one) return damaged("job " + to_string(key) + " was never moved");
    }
    state_.evictions.restore_churn(std::move(image_.churn), {});
    for (const auto& [name, at] : image_.look_again) {
        tree.look_again(tree.queue_named(tree.pool_named(name.first), name.second), at);
    }
    for (const auto& [pool, queue] : image_.beyond_guarantee) {
        tree.restore_beyond_guarantee(tree.queue_named(tree.pool_named(pool), queue), {});
    }
    return true;
}

Result<bool> StateReader::read_nodes() {
    for (NodeImage& node : image_.nodes) {
        if (node.slot >= kSlotsMax || node.slot < state_.nodes.rows().size() ||
            state_.nodes.node_ids().contains(node.facts.name)) {
            return damaged("node " + node.facts.name + " is out of place");
        }
        state_.nodes.restore_node(node.slot, node.known, std::move(node.facts), {});
    }
    return true;
}

Result<bool> StateReader::read_jobs() {
    for (const JobImage& job : image_.jobs) {
        if (!is_plausible(job) || state_.jobs.job_ids().contains(job.key)) {
            return damaged("job " + to_string(job.key) + " is not one");
        }
        const JobId id = state_.jobs.job_named(job.key, job.submitted_at);
        JobRow& row = state_.jobs.rows().restored(id, {});
        copy_image(job, row);
        row.is_dirty = false;
        row.timer_at = Instant{};
        if (const auto found = image_.job_changes.find(job.key); found != image_.job_changes.end())
            row.change = found->second;
        if (const auto found = image_.pauses.find(job.key); found != image_.pauses.end())
            row.pause = found->second;
        state_.jobs.resolve(id);
    }
    return true;
}

Result<bool> StateReader::read_pods() {
    for (const PodImage& pod : image_.pods) {
        if (!is_plausible(pod) || pod.facts.uid.empty() ||
            state_.pods.find_pod(pod.facts.uid).exists()) {
            return damaged("pod " + to_string(pod.facts.key) + " is not one");
        }
        if (pod.facts.ours && !state_.jobs.find_job(job_key_of(state_, pod.facts)).exists()) {
            return damaged("pod " + to_string(pod.facts.key) + " has no job");
        }
        if (pod.standing == BindState::seat) {
            if (!read_seat(pod)) return damaged("seat " + pod.facts.uid + " has no node");
            continue;
        }
        const PodId id = state_.pods.make_pod(pod.facts);
        copy_image(pod, state_.pods.rows().restored(id, {}));
        if (pod.node.empty()) continue;
        const bool forgets = has_fault(SeededFault::forget_devices_on_disk);
        state_.pods.hold(id, state_.nodes.node_named(pod.node),
                         forgets ? kNoDevice : pod.gpu_device);
        // The record may have been added or dropped meanwhile.
        state_.pods.restore_growth(id, pod.grows_with_demand, {});
    }
    return true;
}

bool StateReader::read_seat(const PodImage& seat) {
    if (seat.node.empty() || !seat.facts.ours) return false;
    if (has_fault(SeededFault::forget_seats_on_disk)) return true;
    const JobId job = state_.jobs.find_job(job_key_of(state_, seat.facts));
    const NodeId node = state_.nodes.node_named(seat.node);
    state_.pods.restore_seat(seat.facts, {PodId::none(), node, seat.gpu_device}, job, {});
    copy_image(seat, state_.pods.rows().restored(state_.pods.find_pod(seat.facts.uid), {}));
    return true;
}

void StateReader::read_reservations() {
    QueueTree& tree = state_.tree;
    for (const HeadReservationImage& kept : image_.promises) {
        const PoolId pool = tree.pool_named(kept.pool);
        const JobId job = state_.jobs.find_job(kept.job);
        if (job.exists()) tree.restore_head(pool, {job, kept.at}, {});
    }
    for (const HeadReservationImage& kept : image_.limits_kept) {
        const JobId job = state_.jobs.find_job(kept.job);
        if (job.exists()) {
            tree.restore_under_limits(tree.pool_named(kept.pool), {job, kept.at}, {});
        }
    }
}

// The second pass, once pods exist: joining a job, they changed the queue of the job.
void StateReader::settle_jobs() {
    state_.jobs.restore_clean({});
    for (const JobImage& image : image_.jobs) {
        const JobId id = state_.jobs.find_job(image.key);
        JobRow& row = state_.jobs.rows().restored(id, {});
        state_.jobs.move_to(id, row.pool, row.queue, image.priority);
        copy_image(image, row);
        row.is_dirty = false;
        state_.jobs.resolve(id);
        state_.session.restore_timer(id, {});
        state_.nominations.restore_job(id, {});
        if (row.workload.due) state_.workloads.send_later(row);
        state_.elastic.restore_job(id, {});
        state_.gangs.restore_job(id, {});
        state_.elastic.mark_surplus(row);
        state_.bindings.find_end_of_refusal(id);
        if (image.is_dirty) state_.jobs.mark_dirty(id);
    }
    state_.run_times.recount_work();
    state_.run_times.count_work();
}

// After all else: charging jobs changes the counters on which refusals depend.
void StateReader::read_refusals() {
    Readiness ready;
    for (const JobImage& image : image_.jobs) {
        if (!image.is_queued) continue;
        const JobId id = state_.jobs.find_job(image.key);
        const JobRow& row = state_.job(id);
        state_.waiting.read_readiness(id, ready);
        if (!ready.can_be_tried()) {
            state_.jobs.mark_dirty(id);  // the version that wrote the image saw it differently
            continue;
        }
        state_.waiting.enter_queue(id, ready);
        if (!image.is_blocked) {
            state_.waiting.restore_refusal(row.waiting.in_class, image.block_reason, {});
            continue;
        }
        const JobId behind = image.behind ? state_.jobs.find_job(*image.behind) : JobId::none();
        state_.waiting.block(row.waiting.in_class,
                             {image.block_reason, image.block_watch, image.is_limited,
                              image.block_limits, behind, 0});
    }
}

Result<bool> StateReader::read_ended_jobs() {
    for (EndedJobImage& job : image_.ended_jobs) {
        const JobId id = state_.jobs.find_job(job.key);
        if (!id.exists() || (job.past && !is_plausible(*job.past))) {
            return damaged("ended job " + to_string(job.key) + " is not one");
        }
        state_.jobs.restore_ended(id, std::move(job.past), job.ended_at, {});
    }
    for (const auto& [key, id] : state_.jobs.job_ids()) Retention{state_}.restore(id, {});
    for (FinishedJob& job : image_.finished_jobs) {
        const bool is_one = is_plausible(job) && !state_.jobs.find_job(job.key).exists() &&
                            state_.jobs.finished_jobs().find(job.key) == nullptr;
        if (!is_one) return damaged("finished job " + to_string(job.key) + " is not one");
        state_.jobs.restore_summary(std::move(job), {});
    }
    state_.jobs.restore_removed(std::move(image_.removed_jobs), std::move(image_.removed_until),
                                {});
    return true;
}

Result<bool> StateReader::read_usage() {
    for (const UsageImage& usage : image_.usage) {
        if (!is_plausible(usage, state_.session.policy().usage_half_life)) {
            return damaged("usage of queue " + usage.queue + " is not one");
        }
    }
    state_.accounts.restore_usage(image_.usage, {});
    if (!state_.accounts.restore_budgets(image_.budgets, {})) {
        return damaged("a budget was used in another period than its own");
    }
    return true;
}

}  // namespace gpuctl
