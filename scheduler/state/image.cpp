#include "scheduler/state/image.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/retention.hpp"

namespace gpuctl {
namespace {

// More slots than this are no cluster but damage.
constexpr std::uint32_t kSlotsMax = 1U << 22;

Error damaged(const std::string& what) {
    return make_error(ErrorCode::JournalDamaged, "state image: " + what);
}

template <typename To, typename From>
void copy_job(To& to, const From& from) {
    to.key = from.key;
    to.arrival = from.arrival;
    to.submitted_at = from.submitted_at;
    to.pool_wanted = from.pool_wanted;
    to.queue_wanted = from.queue_wanted;
    to.priority = from.priority;
    to.record = from.record;
    to.workload = from.workload;
    to.workload_due = from.workload_due;
    to.workload_in_flight = from.workload_in_flight;
    to.create_deadline = from.create_deadline;
    to.create_lands_until = from.create_lands_until;
    to.force_delete = from.force_delete;
    to.workload_effect = from.workload_effect;
    to.workload_failures = from.workload_failures;
    to.workload_not_before = from.workload_not_before;
    to.message = from.message;
    to.workload_facts = from.workload_facts;
    to.gang_attempt = from.gang_attempt;
    to.finished = from.finished;
    if (!planted(PlantedBug::forget_started_gangs_on_disk)) to.gang_started = from.gang_started;
    if (!planted(PlantedBug::forget_stranded_gangs_on_disk)) to.short_since = from.short_since;
    to.is_stranded = from.is_stranded;
    to.nears_wait_target = from.nears_wait_target;
    to.lateness = from.lateness;
    to.gang_deadline = from.gang_deadline;
    to.member_refused = from.member_refused;
    to.bind_failures = from.bind_failures;
    to.not_before = from.not_before;
    to.reported = from.reported;
    to.reported_reason = from.reported_reason;
    to.started_at = from.started_at;
    to.earlier_runs_until = from.earlier_runs_until;
    to.finished_at = from.finished_at;
    to.last_phase = from.last_phase;
    to.claim_until = from.claim_until;
    to.claim_pods = from.claim_pods;
    to.victims = from.victims;
    to.victim_refused = from.victim_refused;
    to.eviction_failures = from.eviction_failures;
    to.evict_again_at = from.evict_again_at;
    to.elastic = from.elastic;
    to.timer_at = from.timer_at;
    to.is_long = from.is_long;
    to.is_dirty = from.is_dirty;
}

template <typename To, typename From>
void copy_pod(To& to, const From& from) {
    to.facts = from.facts;
    to.standing = from.standing;
    to.bar = from.bar;
    to.in_flight = from.in_flight;
    to.delete_in_flight = from.delete_in_flight;
    to.start_reported = from.start_reported;
    to.eviction = from.eviction;
    to.evict_effect = from.evict_effect;
    to.evicted_for = from.evicted_for;
    to.eviction_request = from.eviction_request;
    if (!planted(PlantedBug::forget_evictions_on_disk)) to.evicted_at = from.evicted_at;
    to.spared_until = from.spared_until;
    to.barred_until = from.barred_until;
    to.effect = from.effect;
    to.bind_deadline = from.bind_deadline;
    to.unsure_until = from.unsure_until;
    to.placed_at = from.placed_at;
    to.seen_at = from.seen_at;
    to.leaves_at = from.leaves_at;
    to.reported = from.reported;
    to.message = from.message;
}

bool is_plausible(const PodImage& pod) {
    return pod.standing <= PodStanding::claimed && pod.bar <= PodBar::refused &&
           pod.eviction <= Eviction::accepted && pod.facts.phase <= PodPhase::failed;
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
    out.now = now_;
    out.leading = leading_;
    out.synced = synced_;
    out.idle = idle_;
    out.unfinished = unfinished_;
    out.resend_due = resend_due_;
    out.epoch = epoch_;
    out.next_effect = next_effect_;
    out.next_arrival = next_arrival_;
    out.wake_requested = wake_requested_;
    out.policy = policy_;
    out.gang_sizes = gang_sizes_;
    for (const PoolRow& pool : pools_) out.pools.push_back(pool.name);
    out.gang_notes = outside_.gang_notes;
    out.device_classes = outside_.device_classes;
    out.finished = finished_;
    if (!planted(PlantedBug::forget_evictions_on_disk)) out.churn = churn_;
    for (const QueueRow& queue : queues_) {
        if (queue.is_beyond_guarantee) {
            out.beyond_guarantee.emplace_back(pools_[queue.pool.value()].name, queue.name);
        }
        if (!queue.look_again_at.happened()) continue;
        out.look_again[{pools_[queue.pool.value()].name, queue.name}] = queue.look_again_at;
    }
    std::sort(out.beyond_guarantee.begin(), out.beyond_guarantee.end());
    for (std::uint32_t slot = 0; slot < nodes_.size(); ++slot) {
        if (nodes_[slot].live) out.nodes.push_back({slot, nodes_[slot].known, nodes_[slot].facts});
    }
    for (const PodRow& pod : pods_) {
        if (pod.facts.uid.empty()) continue;  // a vacant row
        PodImage& image = out.pods.emplace_back();
        copy_pod(image, pod);
        if (pod.node.exists()) image.node = nodes_[pod.node.value()].facts.name;
        image.gpu_device = pod.gpu_device;
        image.grows_with_demand = pod.grows_with_demand;
    }
    std::sort(out.pods.begin(), out.pods.end(),
              [](const PodImage& a, const PodImage& b) { return a.facts.uid < b.facts.uid; });
    out.usage = usage_image();
    for (const auto& [key, id] : job_ids_) {
        const JobRow& job = jobs_[id.value()];
        JobImage& image = out.jobs.emplace_back();
        copy_job(image, job);
        // A changed job is taken out of its class before anything is planned (take_dirty()).
        image.is_queued = job.waits_in.exists() && !job.is_dirty;
        if (!image.is_queued) continue;
        const JobClass& waiting = book_.at(job.waits_in);
        image.block_reason = waiting.block.reason;
        image.is_blocked = is_blocked(waiting);
        image.block_watch = image.is_blocked ? waiting.block.watch : 0;
        if (!image.is_blocked) continue;
        image.is_limited = waiting.block.is_limited;
        image.block_limits = waiting.block.limits;
        const JobId behind = waiting.block.behind;
        if (behind.exists()) image.behind = jobs_[behind.value()].key;
    }
    for (std::uint32_t i = 0; i < history_.owners().size(); ++i) {
        const RunTimeHistory::Kept& kept = history_.owners()[i];
        if (!kept.runs.empty()) out.run_times.push_back({tenants_[i].name, kept.noted, kept.runs});
    }
    std::sort(out.run_times.begin(), out.run_times.end(),
              [](const OwnerRuns& a, const OwnerRuns& b) { return a.owner < b.owner; });
    for (const auto& [name, id] : pool_ids_) {
        const PoolRow& pool = pools_[id.value()];
        for (const Promise& kept : pool.limits_kept) {
            out.limits_kept.push_back({name, jobs_[kept.job.value()].key, kept.at});
        }
        if (!pool.promise.job.exists()) continue;
        out.promises.push_back({name, jobs_[pool.promise.job.value()].key, pool.promise.at});
    }
    out.calendar = calendar_.clock;
    out.budgets = budgets_.image(*this, now_);
    for (const auto& [key, id] : job_ids_) {
        const JobRow& job = jobs_[id.value()];
        if (job.ended_at.happened() || job.past) {
            out.ended_jobs.push_back({key, job.ended_at, job.past});
        }
    }
    if (planted(PlantedBug::forget_finished_on_disk)) return out;
    for (const auto& [key, job] : finished_jobs_.by_key()) out.finished_jobs.push_back(job);
    out.removed_jobs = finished_jobs_.removed();
    out.removed_until = finished_jobs_.removed_until();
    return out;
}

Result<ClusterState> ClusterState::from_image(StateImage image) {
    if (image.version != 1) {
        return damaged("version " + std::to_string(image.version) + " is not known");
    }
    ClusterState state;
    state.now_ = image.now;
    for (const std::string& pool : image.pools) (void)state.pool_named(pool);
    state.take_policy(std::move(image.policy));
    state.gang_sizes_ = std::move(image.gang_sizes);
    state.outside_.gang_notes = std::move(image.gang_notes);
    state.outside_.device_classes = std::move(image.device_classes);
    state.finished_ = std::move(image.finished);
    for (const auto& [key, churn] : image.churn) {
        const bool is_one =
            !churn.evicted_at.empty() &&
            std::none_of(churn.vacancies.begin(), churn.vacancies.end(),
                         [](const Vacancy& place) { return place.evicted_at.empty(); });
        if (!is_one) return damaged("job " + to_string(key) + " was never moved");
    }
    state.churn_ = std::move(image.churn);
    for (const auto& [name, at] : image.look_again) {
        state.look_again(state.queue_named(state.pool_named(name.first), name.second), at);
    }
    for (const auto& [pool, queue] : image.beyond_guarantee) {
        const QueueId id = state.queue_named(state.pool_named(pool), queue);
        state.queues_[id.value()].is_beyond_guarantee = true;
    }
    for (NodeImage& node : image.nodes) {
        if (node.slot >= kSlotsMax || node.slot < state.nodes_.size() ||
            state.node_ids_.contains(node.facts.name)) {
            return damaged("node " + node.facts.name + " is out of place");
        }
        while (state.nodes_.size() < node.slot) {  // gaps left by nodes that went
            state.node_slots_vacant_.insert(static_cast<std::uint32_t>(state.nodes_.size()));
            state.nodes_.emplace_back();
        }
        const std::set<std::uint32_t> gaps = std::exchange(state.node_slots_vacant_, {});
        (void)state.node_named(node.facts.name);
        state.node_slots_vacant_ = gaps;
        if (!node.known) continue;
        EffectList none;
        state.on(NodeObserved{std::move(node.facts)}, none);
    }
    for (const JobImage& job : image.jobs) {
        if (!is_plausible(job) || state.job_ids_.contains(job.key)) {
            return damaged("job " + to_string(job.key) + " is not one");
        }
        JobRow& row = state.jobs_[state.job_named(job.key, job.submitted_at).value()];
        copy_job(row, job);
        row.is_dirty = false;
        row.timer_at = Instant{};
        state.resolve(row);
    }
    for (const PodImage& pod : image.pods) {
        if (!is_plausible(pod) || pod.facts.uid.empty() || state.find_pod(pod.facts.uid).exists()) {
            return damaged("pod " + to_string(pod.facts.key) + " is not one");
        }
        if (pod.facts.ours && !state.find_job(job_key_of(state, pod.facts)).exists()) {
            return damaged("pod " + to_string(pod.facts.key) + " has no job");
        }
        const PodId id = state.make_pod(pod.facts);
        copy_pod(state.pods_[id.value()], pod);
        if (!pod.node.empty()) {
            const bool forgets = planted(PlantedBug::forget_devices_on_disk);
            state.hold(id, state.node_named(pod.node), forgets ? kNoDevice : pod.gpu_device);
            PodRow& row = state.pods_[id.value()];  // its record may have come or gone meanwhile
            if (row.grows_with_demand == pod.grows_with_demand) continue;
            state.charge(id, -1);
            row.grows_with_demand = pod.grows_with_demand;
            state.charge(id, 1);
        }
    }
    state.late_next_.clear();
    for (std::uint32_t i = 0; i < state.pods_.size(); ++i) {
        const PodRow& row = state.pods_[i];
        if (row.leaves_at.happened() && !row.is_stuck(image.now)) {
            state.late_next_.emplace(row.leaves_at + kLateToLeave, PodId{i});
        }
    }
    if (const auto restored = state.restore_run_times(image); !restored) return restored.error();
    state.restore_jobs(image.jobs);
    for (EndedJobImage& job : image.ended_jobs) {
        const JobId id = state.find_job(job.key);
        if (!id.exists() || (job.past && !is_plausible(*job.past))) {
            return damaged("ended job " + to_string(job.key) + " is not one");
        }
        state.jobs_[id.value()].past = std::move(job.past);
        state.jobs_[id.value()].ended_at = job.ended_at;
    }
    for (const auto& [key, id] : state.job_ids_) Retention{state}.restore(id);
    for (FinishedJob& job : image.finished_jobs) {
        const bool is_one = is_plausible(job) && !state.find_job(job.key).exists() &&
                            state.finished_jobs_.find(job.key) == nullptr;
        if (!is_one) return damaged("finished job " + to_string(job.key) + " is not one");
        state.finished_jobs_.add(std::move(job));
    }
    state.finished_jobs_.restore_removed(std::move(image.removed_jobs),
                                         std::move(image.removed_until));
    state.maybe_ended_.clear();
    for (const UsageImage& usage : image.usage) {
        if (!is_plausible(usage, state.policy_.usage_half_life)) {
            return damaged("usage of queue " + usage.queue + " is not one");
        }
    }
    state.restore_usage(image.usage);
    if (!state.budgets_.restore(state, image.budgets)) {
        return damaged("a budget was used in another period than its own");
    }
    state.leading_ = image.leading;
    state.synced_ = image.synced;
    state.idle_ = image.idle;
    state.unfinished_ = image.unfinished;
    state.resend_due_ = image.resend_due;
    state.epoch_ = image.epoch;
    state.next_effect_ = image.next_effect;
    state.next_arrival_ = image.next_arrival;
    state.wake_requested_ = image.wake_requested;
    state.calendar_.clock = image.calendar;
    return state;
}

// Second pass, once pods are there: they had a say in their job's queue when they were joined.
void ClusterState::restore_jobs(const std::vector<JobImage>& images) {
    for (const JobId id : dirty_) jobs_[id.value()].is_dirty = false;
    dirty_.clear();
    for (const JobImage& image : images) {
        const JobId id = find_job(image.key);
        JobRow& row = jobs_[id.value()];
        recharge(row, row.pool, row.queue, image.priority);
        copy_job(row, image);
        row.is_dirty = false;
        resolve(row);
        if (row.timer_at.happened() && !planted(PlantedBug::forget_timers_on_disk)) {
            timers_.emplace(row.timer_at, row.arrival, id);
        }
        if (row.claim_until.happened()) claims_.push_back(id);
        if (row.workload_due) send_later(row);
        if (planted(PlantedBug::forget_sizes_on_disk)) row.elastic = {};
        if (planted(PlantedBug::forget_what_was_worked)) row.elastic.done = {};
        if (is_elastic(row)) elastic_jobs_.emplace(row.arrival, id);
        if (row.is_stranded) stranded_gangs_.emplace(row.arrival, id);
        mark_surplus(row);
        find_end_of_refusal(row);
        if (image.is_dirty) mark_dirty(id);
    }
    recount_work();
    count_work();
    // Blocks last: recharging above moves the very counters that they watch.
    Readiness ready;
    for (const JobImage& image : images) {
        if (!image.is_queued) continue;
        const JobId id = find_job(image.key);
        const JobRow& row = jobs_[id.value()];
        read_readiness(id, ready);
        if (ready.hold != Reason::none || ready.pods.empty()) {
            mark_dirty(id);  // an image made by a version that saw it otherwise
            continue;
        }
        enter_queue(id, ready);
        if (image.is_blocked) {
            const JobId behind = image.behind ? find_job(*image.behind) : JobId::none();
            block(row.waits_in, {image.block_reason, image.block_watch, image.is_limited,
                                 image.block_limits, behind, 0});
        } else {
            ClassBlock told;
            told.reason = image.block_reason;
            book_.block(row.waits_in, told);
        }
    }
}

}  // namespace gpuctl
