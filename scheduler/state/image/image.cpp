#include "scheduler/state/image/image.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/pairs.hpp"
#include "scheduler/state/image/state_reader.hpp"

namespace gpuctl {
namespace {

void write_session(const Session& session, StateImage& out) {
    out.now = session.event_time();
    out.leading = session.leading();
    out.synced = session.synced();
    out.idle = session.idle();
    out.unfinished = session.is_unfinished();
    out.resend_due = session.resend_due();
    out.epoch = session.epoch();
    out.next_effect = static_cast<std::uint64_t>(session.effect_to_come());
    out.wake_requested = session.wake_requested();
    out.policy = session.policy();
}

// Facts of a gang or a job that are not in its row.
void write_notes(const ClusterState& state, StateImage& out) {
    out.gang_sizes = state.gangs.gang_sizes();
    out.gang_notes = state.nodes.outside().gang_notes;
    out.device_classes = state.nodes.outside().device_classes;
    out.finished = state.jobs.finished();
    if (!has_fault(SeededFault::forget_evictions_on_disk)) out.churn = state.evictions.churn();
}

void write_queues(const QueueTree& tree, StateImage& out) {
    for (const PoolRow& pool : tree.pool_rows()) out.pools.push_back(pool.name);
    for (const QueueRow& queue : tree.queue_rows()) {
        const std::string& pool = tree.pool_rows()[queue.pool.value()].name;
        if (queue.is_beyond_guarantee) out.beyond_guarantee.emplace_back(pool, queue.name);
        if (queue.look_again_at.happened()) {
            out.look_again[{pool, queue.name}] = queue.look_again_at;
        }
    }
    std::sort(out.beyond_guarantee.begin(), out.beyond_guarantee.end());
}

void write_nodes(const NodeTable& nodes, StateImage& out) {
    for (std::uint32_t slot = 0; slot < nodes.size(); ++slot) {
        const NodeRow& node = nodes[slot];
        if (node.live) out.nodes.push_back({slot, node.known, node.facts});
    }
}

void write_pods(const ClusterState& state, StateImage& out) {
    for (const PodRow& pod : state.pods.rows()) {
        if (pod.facts.uid.empty()) continue;  // a vacant row
        PodImage& image = out.pods.emplace_back();
        copy_row(pod, image);
        if (pod.node.exists()) image.node = state.node(pod.node).facts.name;
        image.gpu_device = pod.gpu_device;
        image.grows_with_demand = pod.grows_with_demand;
    }
    std::sort(out.pods.begin(), out.pods.end(),
              [](const PodImage& a, const PodImage& b) { return a.facts.uid < b.facts.uid; });
}

// Why the class of a queued job was refused, if it is still blocked.
void write_refusal(const ClusterState& state, const JobClass& job_class, JobImage& image) {
    const ClassBlock& block = job_class.block;
    image.block_reason = block.reason;
    image.is_blocked = state.waiting.is_blocked(job_class);
    image.block_watch = image.is_blocked ? block.watch : 0;
    if (!image.is_blocked) return;
    image.is_limited = block.is_limited;
    image.block_limits = block.limits;
    if (block.behind.exists()) image.behind = state.job(block.behind).key;
}

void write_jobs(const ClusterState& state, StateImage& out) {
    for (const auto& [key, id] : state.jobs.job_ids()) {
        const JobRow& job = state.job(id);
        JobImage& image = out.jobs.emplace_back();
        copy_row(job, image);
        // A changed job is taken out of its class before anything is planned (take_dirty()).
        image.is_queued = job.waiting.in_class.exists() && !job.is_dirty;
        if (image.is_queued) {
            write_refusal(state, state.waiting.book().at(job.waiting.in_class), image);
        }
    }
}

void write_changes(const ClusterState& state, StateImage& out) {
    for (const auto& [key, id] : state.jobs.job_ids()) {
        const JobRow& job = state.job(id);
        if (job.change != ChangeRow{}) out.job_changes.emplace(key, job.change);
        if (job.pause != PauseRow{}) out.pauses.emplace(key, job.pause);
    }
}

void write_run_times(const ClusterState& state, StateImage& out) {
    const auto& owners = state.run_times.history().owners();
    for (std::uint32_t i = 0; i < owners.size(); ++i) {
        const RunTimeHistory::Kept& kept = owners[i];
        if (kept.runs.empty()) continue;
        out.run_times.push_back({state.tree.tenant_rows()[i].name, kept.noted, kept.runs});
    }
    std::sort(out.run_times.begin(), out.run_times.end(),
              [](const OwnerRuns& a, const OwnerRuns& b) { return a.owner < b.owner; });
}

void write_reservations(const ClusterState& state, StateImage& out) {
    for (const auto& [name, id] : state.tree.pool_ids()) {
        const PoolReservations& of = state.pool(id).reservations;
        for (const HeadReservation& kept : of.under_limits) {
            out.limits_kept.push_back({name, state.job(kept.job).key, kept.at});
        }
        if (!of.head.job.exists()) continue;
        out.promises.push_back({name, state.job(of.head.job).key, of.head.at});
    }
}

void write_ended_jobs(const Jobs& jobs, StateImage& out) {
    for (const auto& [key, id] : jobs.job_ids()) {
        const RetentionRow& retention = jobs.rows()[id.value()].retention;
        if (retention.phase() == RetentionPhase::open) continue;
        out.ended_jobs.push_back({key, retention.ended_at, retention.past});
    }
    if (has_fault(SeededFault::forget_finished_on_disk)) return;
    const FinishedJobs& finished = jobs.finished_jobs();
    for (const auto& [key, job] : finished.by_key()) out.finished_jobs.push_back(job);
    out.removed_jobs = finished.removed();
    out.removed_until = finished.removed_until();
}

}  // namespace

StateImage ClusterState::image() const {
    StateImage out;
    write_session(session, out);
    write_notes(*this, out);
    write_queues(tree, out);
    write_nodes(nodes.rows(), out);
    write_pods(*this, out);
    write_jobs(*this, out);
    write_changes(*this, out);
    write_run_times(*this, out);
    write_reservations(*this, out);
    write_ended_jobs(jobs, out);
    out.next_arrival = jobs.next_arrival();
    out.usage = accounts.usage_image();
    out.calendar = maintenance.calendar().clock;
    out.budgets = accounts.budgets().image(*this, session.event_time());
    out.signals = signals.image();
    out.policy_objects = policy_objects.image();
    if (!has_fault(SeededFault::forget_node_changes_on_disk))
        out.node_changes = node_changes.open();
    return out;
}

Result<std::unique_ptr<ClusterState>> ClusterState::from_image(StateImage image) {
    auto made = std::make_unique<ClusterState>();
    if (const auto read = StateReader{*made, image, {}}.read(); !read) return read.error();
    return made;
}

}  // namespace gpuctl
