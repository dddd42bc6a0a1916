#include "scheduler/state/image/image.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {
namespace {

// More slots than this are no cluster but damage.
constexpr std::uint32_t kSlotsMax = 1U << 22;

Error damaged(const std::string& what) {
    return make_error(ErrorCode::JournalDamaged, "state image: " + what);
}

// Every member of an image with the one of the row that it is of: one list for both directions.
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
    if (!planted(PlantedBug::forget_started_gangs_on_disk))
        copy(image.gang_started, row.gang.started);
    if (!planted(PlantedBug::forget_stranded_gangs_on_disk))
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
    copy(image.evicted_for, row.eviction.beneficiary);
    copy(image.eviction_request, row.eviction.request);
    if (!planted(PlantedBug::forget_evictions_on_disk))
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

bool is_plausible(const PodImage& pod) {
    return pod.standing <= BindState::claimed && pod.bar <= PodBar::refused &&
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

StateImage ClusterState::image() const {
    StateImage out;
    out.now = session.event_time();
    out.leading = session.leading();
    out.synced = session.synced();
    out.idle = session.idle();
    out.unfinished = session.unfinished();
    out.resend_due = session.resend_due();
    out.epoch = session.epoch();
    out.next_effect = static_cast<std::uint64_t>(session.effect_to_come());
    out.next_arrival = jobs.next_arrival();
    out.wake_requested = session.wake_requested();
    out.policy = session.policy();
    out.gang_sizes = gangs.gang_sizes();
    for (const PoolRow& pool : tree.pool_rows()) out.pools.push_back(pool.name);
    out.gang_notes = nodes.outside().gang_notes;
    out.device_classes = nodes.outside().device_classes;
    out.finished = jobs.finished();
    if (!planted(PlantedBug::forget_evictions_on_disk)) out.churn = evictions.churn();
    for (const QueueRow& queue : tree.queue_rows()) {
        if (queue.is_beyond_guarantee) {
            out.beyond_guarantee.emplace_back(tree.pool_rows()[queue.pool.value()].name,
                                              queue.name);
        }
        if (!queue.look_again_at.happened()) continue;
        out.look_again[{tree.pool_rows()[queue.pool.value()].name, queue.name}] =
            queue.look_again_at;
    }
    std::sort(out.beyond_guarantee.begin(), out.beyond_guarantee.end());
    for (std::uint32_t slot = 0; slot < nodes.rows().size(); ++slot) {
        if (nodes.rows()[slot].live)
            out.nodes.push_back({slot, nodes.rows()[slot].known, nodes.rows()[slot].facts});
    }
    for (const PodRow& pod : pods.rows()) {
        if (pod.facts.uid.empty()) continue;  // a vacant row
        PodImage& image = out.pods.emplace_back();
        pair_pod(image, pod, kToImage);
        if (pod.node.exists()) image.node = nodes.rows()[pod.node.value()].facts.name;
        image.gpu_device = pod.gpu_device;
        image.grows_with_demand = pod.grows_with_demand;
    }
    std::sort(out.pods.begin(), out.pods.end(),
              [](const PodImage& a, const PodImage& b) { return a.facts.uid < b.facts.uid; });
    out.usage = accounts.usage_image();
    for (const auto& [key, id] : jobs.job_ids()) {
        const JobRow& job = jobs.rows()[id.value()];
        JobImage& image = out.jobs.emplace_back();
        pair_job(image, job, kToImage);
        // A changed job is taken out of its class before anything is planned (take_dirty()).
        image.is_queued = job.waiting.in_class.exists() && !job.is_dirty;
        if (!image.is_queued) continue;
        const JobClass& job_class = waiting.book().at(job.waiting.in_class);
        image.block_reason = job_class.block.reason;
        image.is_blocked = waiting.is_blocked(job_class);
        image.block_watch = image.is_blocked ? job_class.block.watch : 0;
        if (!image.is_blocked) continue;
        image.is_limited = job_class.block.is_limited;
        image.block_limits = job_class.block.limits;
        const JobId behind = job_class.block.behind;
        if (behind.exists()) image.behind = jobs.rows()[behind.value()].key;
    }
    for (std::uint32_t i = 0; i < run_times.history().owners().size(); ++i) {
        const RunTimeHistory::Kept& kept = run_times.history().owners()[i];
        if (!kept.runs.empty())
            out.run_times.push_back({tree.tenant_rows()[i].name, kept.noted, kept.runs});
    }
    std::sort(out.run_times.begin(), out.run_times.end(),
              [](const OwnerRuns& a, const OwnerRuns& b) { return a.owner < b.owner; });
    for (const auto& [name, id] : tree.pool_ids()) {
        const PoolRow& pool = tree.pool_rows()[id.value()];
        for (const HeadReservation& kept : pool.reservations.under_limits) {
            out.limits_kept.push_back({name, jobs.rows()[kept.job.value()].key, kept.at});
        }
        if (!pool.reservations.head.job.exists()) continue;
        out.promises.push_back(
            {name, jobs.rows()[pool.reservations.head.job.value()].key, pool.reservations.head.at});
    }
    out.calendar = maintenance.calendar().clock;
    out.budgets = accounts.budgets().image(*this, session.event_time());
    for (const auto& [key, id] : jobs.job_ids()) {
        const JobRow& job = jobs.rows()[id.value()];
        if (job.run.ended_at.happened() || job.run.past) {
            out.ended_jobs.push_back({key, job.run.ended_at, job.run.past});
        }
    }
    out.signals = signals.image();
    if (planted(PlantedBug::forget_finished_on_disk)) return out;
    for (const auto& [key, job] : jobs.finished_jobs().by_key()) out.finished_jobs.push_back(job);
    out.removed_jobs = jobs.finished_jobs().removed();
    out.removed_until = jobs.finished_jobs().removed_until();
    return out;
}

Result<std::unique_ptr<ClusterState>> ClusterState::from_image(StateImage image) {
    if (image.version != 1) {
        return damaged("version " + std::to_string(image.version) + " is not known");
    }
    auto made = std::make_unique<ClusterState>();
    ClusterState& state = *made;
    state.session.event_time() = image.now;
    for (const std::string& pool : image.pools) (void)state.tree.pool_named(pool);
    state.tree.take_policy(std::move(image.policy));
    state.gangs.gang_sizes() = std::move(image.gang_sizes);
    state.nodes.outside().gang_notes = std::move(image.gang_notes);
    state.nodes.outside().device_classes = std::move(image.device_classes);
    state.jobs.finished() = std::move(image.finished);
    for (const auto& [key, churn] : image.churn) {
        const bool is_one =
            !churn.evicted_at.empty() &&
            std::none_of(churn.vacancies.begin(), churn.vacancies.end(),
                         [](const Vacancy& place) { return place.evicted_at.empty(); });
        if (!is_one) return damaged("job " + to_string(key) + " was never moved");
    }
    state.evictions.churn() = std::move(image.churn);
    for (const auto& [name, at] : image.look_again) {
        state.tree.look_again(
            state.tree.queue_named(state.tree.pool_named(name.first), name.second), at);
    }
    for (const auto& [pool, queue] : image.beyond_guarantee) {
        const QueueId id = state.tree.queue_named(state.tree.pool_named(pool), queue);
        state.tree.queue_rows()[id.value()].is_beyond_guarantee = true;
    }
    for (NodeImage& node : image.nodes) {
        if (node.slot >= kSlotsMax || node.slot < state.nodes.rows().size() ||
            state.nodes.node_ids().contains(node.facts.name)) {
            return damaged("node " + node.facts.name + " is out of place");
        }
        while (state.nodes.rows().size() < node.slot) {  // gaps left by nodes that went
            state.nodes.node_slots_vacant().insert(
                static_cast<std::uint32_t>(state.nodes.rows().size()));
            state.nodes.rows().emplace_back();
        }
        const std::set<std::uint32_t> gaps = std::exchange(state.nodes.node_slots_vacant(), {});
        (void)state.nodes.node_named(node.facts.name);
        state.nodes.node_slots_vacant() = gaps;
        if (!node.known) continue;
        EffectList none;
        state.nodes.on(NodeObserved{std::move(node.facts)}, none);
    }
    for (const JobImage& job : image.jobs) {
        if (!is_plausible(job) || state.jobs.job_ids().contains(job.key)) {
            return damaged("job " + to_string(job.key) + " is not one");
        }
        JobRow& row = state.jobs.rows()[state.jobs.job_named(job.key, job.submitted_at).value()];
        pair_job(job, row, kToRow);
        row.is_dirty = false;
        row.timer_at = Instant{};
        state.jobs.resolve(row);
    }
    for (const PodImage& pod : image.pods) {
        if (!is_plausible(pod) || pod.facts.uid.empty() ||
            state.pods.find_pod(pod.facts.uid).exists()) {
            return damaged("pod " + to_string(pod.facts.key) + " is not one");
        }
        if (pod.facts.ours && !state.jobs.find_job(job_key_of(state, pod.facts)).exists()) {
            return damaged("pod " + to_string(pod.facts.key) + " has no job");
        }
        const PodId id = state.pods.make_pod(pod.facts);
        pair_pod(pod, state.pods.rows()[id.value()], kToRow);
        if (!pod.node.empty()) {
            const bool forgets = planted(PlantedBug::forget_devices_on_disk);
            state.pods.hold(id, state.nodes.node_named(pod.node),
                            forgets ? kNoDevice : pod.gpu_device);
            PodRow& row =
                state.pods.rows()[id.value()];  // its record may have come or gone meanwhile
            if (row.grows_with_demand == pod.grows_with_demand) continue;
            state.accounts.charge(id, -1);
            row.grows_with_demand = pod.grows_with_demand;
            state.accounts.charge(id, 1);
        }
    }
    state.pods.late_next().clear();
    for (std::uint32_t i = 0; i < state.pods.rows().size(); ++i) {
        const PodRow& row = state.pods.rows()[i];
        if (row.leaves_at.happened() && !row.is_stuck(image.now)) {
            state.pods.late_next().emplace(row.leaves_at + kLateToLeave, PodId{i});
        }
    }
    if (const auto restored = state.run_times.restore_run_times(image); !restored)
        return restored.error();
    state.restore_jobs(image.jobs);
    for (EndedJobImage& job : image.ended_jobs) {
        const JobId id = state.jobs.find_job(job.key);
        if (!id.exists() || (job.past && !is_plausible(*job.past))) {
            return damaged("ended job " + to_string(job.key) + " is not one");
        }
        state.jobs.rows()[id.value()].run.past = std::move(job.past);
        state.jobs.rows()[id.value()].run.ended_at = job.ended_at;
    }
    for (const auto& [key, id] : state.jobs.job_ids()) Retention{state}.restore(id);
    for (FinishedJob& job : image.finished_jobs) {
        const bool is_one = is_plausible(job) && !state.jobs.find_job(job.key).exists() &&
                            state.jobs.finished_jobs().find(job.key) == nullptr;
        if (!is_one) return damaged("finished job " + to_string(job.key) + " is not one");
        state.jobs.finished_jobs().add(std::move(job));
    }
    state.jobs.finished_jobs().restore_removed(std::move(image.removed_jobs),
                                               std::move(image.removed_until));
    state.jobs.maybe_ended().clear();
    for (const UsageImage& usage : image.usage) {
        if (!is_plausible(usage, state.session.policy().usage_half_life)) {
            return damaged("usage of queue " + usage.queue + " is not one");
        }
    }
    state.accounts.restore_usage(image.usage);
    if (!state.accounts.budgets().restore(state, image.budgets)) {
        return damaged("a budget was used in another period than its own");
    }
    if (!state.signals.restore(image.signals)) return damaged("a signal is of no job");
    state.session.leading() = image.leading;
    state.session.synced() = image.synced;
    state.session.idle() = image.idle;
    state.session.unfinished() = image.unfinished;
    state.session.resend_due() = image.resend_due;
    state.session.epoch() = image.epoch;
    state.session.restore_next_effect(image.next_effect);
    state.jobs.next_arrival() = image.next_arrival;
    state.session.wake_requested() = image.wake_requested;
    state.maintenance.calendar().clock = image.calendar;
    return made;
}

// Second pass, once pods are there: they had a say in their job's queue when they were joined.
void ClusterState::restore_jobs(const std::vector<JobImage>& images) {
    for (const JobId id : jobs.dirty()) jobs.rows()[id.value()].is_dirty = false;
    jobs.dirty().clear();
    for (const JobImage& image : images) {
        const JobId id = jobs.find_job(image.key);
        JobRow& row = jobs.rows()[id.value()];
        accounts.recharge(row, row.pool, row.queue, image.priority);
        pair_job(image, row, kToRow);
        row.is_dirty = false;
        jobs.resolve(row);
        if (row.timer_at.happened() && !planted(PlantedBug::forget_timers_on_disk)) {
            session.timers().emplace(row.timer_at, row.arrival, id);
        }
        if (row.nomination.until.happened()) nominations.claims().push_back(id);
        if (row.workload.due) workloads.send_later(row);
        if (planted(PlantedBug::forget_sizes_on_disk)) row.elastic = {};
        if (planted(PlantedBug::forget_what_was_worked)) row.elastic.done = {};
        if (elastic.is_elastic(row)) elastic.elastic_jobs().emplace(row.arrival, id);
        if (row.gang.is_stranded) gangs.stranded_gangs().emplace(row.arrival, id);
        elastic.mark_surplus(row);
        bindings.find_end_of_refusal(row);
        if (image.is_dirty) jobs.mark_dirty(id);
    }
    run_times.recount_work();
    run_times.count_work();
    // Blocks last: recharging above moves the very counters that they watch.
    Readiness ready;
    for (const JobImage& image : images) {
        if (!image.is_queued) continue;
        const JobId id = jobs.find_job(image.key);
        const JobRow& row = jobs.rows()[id.value()];
        waiting.read_readiness(id, ready);
        if (!ready.can_be_tried()) {
            jobs.mark_dirty(id);  // an image made by a version that saw it otherwise
            continue;
        }
        waiting.enter_queue(id, ready);
        if (image.is_blocked) {
            const JobId behind = image.behind ? jobs.find_job(*image.behind) : JobId::none();
            waiting.block(row.waiting.in_class, {image.block_reason, image.block_watch,
                                                 image.is_limited, image.block_limits, behind, 0});
        } else {
            ClassBlock told;
            told.reason = image.block_reason;
            waiting.book().block(row.waiting.in_class, told);
        }
    }
}

}  // namespace gpuctl
