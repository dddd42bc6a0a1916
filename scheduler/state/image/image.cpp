#include "scheduler/state/image/image.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/pairs.hpp"
#include "scheduler/state/image/state_reader.hpp"

namespace gpuctl {

StateImage ClusterState::image() const {
    StateImage out;
    out.now = session.event_time();
    out.leading = session.leading();
    out.synced = session.synced();
    out.idle = session.idle();
    out.unfinished = session.is_unfinished();
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
    if (!has_fault(SeededFault::forget_evictions_on_disk)) out.churn = evictions.churn();
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
        copy_row(pod, image);
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
        copy_row(job, image);
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
        if (job.retention.phase() != RetentionPhase::open) {
            out.ended_jobs.push_back({key, job.retention.ended_at, job.retention.past});
        }
    }
    out.signals = signals.image();
    if (has_fault(SeededFault::forget_finished_on_disk)) return out;
    for (const auto& [key, job] : jobs.finished_jobs().by_key()) out.finished_jobs.push_back(job);
    out.removed_jobs = jobs.finished_jobs().removed();
    out.removed_until = jobs.finished_jobs().removed_until();
    return out;
}

Result<std::unique_ptr<ClusterState>> ClusterState::from_image(StateImage image) {
    auto made = std::make_unique<ClusterState>();
    if (const auto read = StateReader{*made, image, {}}.read(); !read) return read.error();
    return made;
}

}  // namespace gpuctl
