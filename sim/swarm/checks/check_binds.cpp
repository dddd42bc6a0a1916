// I1, I2, I5 and I14 of binds: the pod may start, fits on the node within every limit, and is not
// retried too early.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::check_bind(const BindPod& bind, const ClusterState& after,
                         std::vector<PlacedJob>& placed_jobs) {
    const std::string what = "bind of " + to_string(bind.pod.key);
    check_may_write(bind.id, bind.epoch, what);
    const auto found = reference_.pods.find(bind.pod.uid);
    if (found == reference_.pods.end()) return fail("I2", what + ": no such pod");
    ReferencePod& pod = found->second;
    const ObjectKey job = job_of(pod.facts);
    if (!pod.facts.node.empty()) fail("I2", what + ": it is bound already");
    if (is_terminal(pod.facts.phase)) fail("I2", what + ": it has ended");
    // Once the bind cannot land any more, its capacity is released and the pod is planned again.
    const bool moved = pod.bind_node != bind.node || pod.bind_device != bind.gpu_device;
    const bool is_over =
        pod.reserved || (pod.open && pod.deadline < reference_.now && !is_kept(pod));
    if (is_over && moved && pod.lands_until < reference_.now) {
        pod.open = pod.reserved = false;
        pod.bind_node.clear();
    }
    if (pod.open || pod.reserved) {  // it is sent again, not decided again
        if (pod.bind_node != bind.node) fail("I2", what + ": an open bind moved to another node");
        if (pod.bind_device != bind.gpu_device) {
            fail("I2", what + ": an open bind moved to another GPU");
        }
        check_reservation(bind, pod);
        return reference_.record_bind(bind);
    }
    if (!pod.bind_node.empty()) return fail("I2", what + ": it is bound already");
    if (pod.facts.terminating || pod.facts.gated) fail("I2", what + ": it may not start");
    const auto quiet = backoff_until_.find(job);
    if (quiet != backoff_until_.end() && reference_.now < quiet->second) {
        fail("I14", what + ": retried at once after a failure");
    }
    const auto refused = refusals_.find(bind.pod.uid);
    if (refused != refusals_.end()) {
        if (!refused->second.has_changed && reference_.now < refused->second.until) {
            fail("I14", what + ": retried at once after it was refused");
        }
        refusals_.erase(refused);
    }
    check_fit(bind, pod, after);
    if (reference_.nominated_before(bind.pod.uid) == bind.node ||
        reference_.kept_room_on(job, bind.node)) {  // it was decided when the node was nominated
        ++probes.nominations_used;
        ++settled_[job];
        return reference_.record_bind(bind);
    }
    check_model_preferred(bind, pod, after);
    check_packing(bind, pod, after);
    PlacedJob& placed_job = placed_job_of(pod, after, placed_jobs);
    ++placed_job.ranks;
    placed_job.uids.insert(bind.pod.uid);
    placed_job.excluded.insert(bind.pod.uid);
    placed_job.excluded.insert(evicted_in_this_step_.begin(), evicted_in_this_step_.end());
    reference_.record_bind(bind);
}

// The job that was placed last, or a new entry if the pod is not one of its ranks.
Checker::PlacedJob& Checker::placed_job_of(const ReferencePod& pod, const ClusterState& after,
                                           std::vector<PlacedJob>& placed_jobs) const {
    const ObjectKey job = job_of(pod.facts);
    const JobRow& row = after.job(after.jobs.find_job(job));
    const Gang gang = reference_.gang_of(job);
    const bool is_further =
        ElasticJobs::is_elastic(row) && gang.is_whole() && pod.facts.rank > gang.rank_last;
    const bool grows = is_further && gang.succeeded == 0;
    const bool may_grow = is_further && !grows;
    if (placed_jobs.empty() || placed_jobs.back().job != job || placed_jobs.back().grows != grows ||
        placed_jobs.back().may_grow != may_grow) {
        const auto settled = settled_.find(job);
        const std::int64_t settled_ranks = settled == settled_.end() ? 0 : settled->second;
        // Capacity whose nomination was dropped may be planned again, for some ranks in the same
        // place.
        const bool resumes = gang.held > settled_ranks && !gang.is_whole();
        placed_jobs.push_back({job,
                               pod.facts,
                               0,
                               gang.size > 0,
                               resumes,
                               grows,
                               may_grow,
                               row.submitted_at,
                               row.arrival,
                               {},
                               {}});
    }
    return placed_jobs.back();
}

// Checks I1 and I5 by sums over all pods.
void Checker::check_fit(const BindPod& bind, const ReferencePod& pod, const ClusterState& after) {
    const std::string what = "bind of " + to_string(bind.pod.key) + " to " + bind.node;
    const Amounts request = amounts_of(pod.facts.request);
    const auto node = reference_.nodes.find(bind.node);
    if (node == reference_.nodes.end()) return fail("I1", what + ": there is no such node");
    const std::string pool = pod.facts.pool.empty() ? kDefaultPool : pod.facts.pool;
    if (node->second.pool != pool) fail("I1", what + ": that is another pool");
    if (!ReferenceModel::may_use(pod.facts.rules, node->second)) {
        fail("I1", what + ": its rules do not allow that node");
    }
    if (!reference_.is_open(node->second, pod.facts)) {
        fail("I20", what + ": it is closed for maintenance, or will be before the job ends");
    }
    if (!reference_.policy.windows.empty()) ++probes.binds_near_windows;
    const auto is_for_it = [&](const MaintenanceWindow& window) {
        return reference_.is_for(window, pod.facts) && covers(window, node->second);
    };
    if (std::any_of(reference_.policy.windows.begin(), reference_.policy.windows.end(),
                    is_for_it)) {
        ++probes.binds_in_reservations;
    }
    if (!pod.facts.rules.volumes.empty()) ++probes.binds_to_volumes;
    if (!request.ports.empty()) {
        ++probes.ports_assigned;
        if (reference_.is_port_taken(bind.node, request.ports)) {
            fail("I1", what + ": another pod uses one of its host ports there");
        }
    }
    if (reference_.fitting(node->second, request, 1) < 1) {
        fail("I1", what + ": there is no room");
    }
    const bool is_part = request.gpus > 0 && request.gpus < 1000;
    if (is_part) ++probes.parts_placed;
    if (is_part && reference_.devices_on(bind.node).on_device(bind.gpu_device) > 0) {
        ++probes.devices_shared;
    }
    if (is_part != (bind.gpu_device >= 0)) {
        fail("I1", what + ": exactly the parts of GPUs need a device");
    } else if (request.gpus > 0 &&
               !reference_.devices_on(bind.node).takes(amounts_of(node->second.allocatable).gpus,
                                                       request.gpus, bind.gpu_device)) {
        fail("I1", what + ": there is no room on GPU " + std::to_string(bind.gpu_device));
    }
    if (!reference_.model_allowed(pod.facts, request.gpus, node->second.gpu_model)) {
        fail("I5", what + " crosses a limit for GPUs of model " + node->second.gpu_model);
    }
    const bool was_nominated = reference_.nominated_before(bind.pod.uid) == bind.node ||
                               reference_.kept_room_on(job_of(pod.facts), bind.node);
    const LetIn let_in = was_nominated ? LetIn::when_nominated : LetIn::now;
    std::string crossed = reference_.limit_crossed(pod.facts, request, let_in);
    if (!crossed.empty()) {  // an earlier nomination of this step may have been dropped
        ReferenceModel nominated_node = reference_;
        nominated_node.read_nominations(after, false);
        crossed = nominated_node.limit_crossed(pod.facts, request, let_in);
    }
    if (!crossed.empty()) fail("I5", what + " crosses the limit of " + crossed);
}

// True if the node still has room for the pod together with all other open binds.
bool Checker::is_kept(const ReferencePod& pod) const {
    const auto node = reference_.nodes.find(pod.bind_node);
    if (node == reference_.nodes.end()) return false;
    ReferenceModel then = reference_;  // nominations only count once their victims are gone
    for (auto& [uid, other] : then.pods) other.nominated_node.clear();
    Amounts room = then.free_on(node->second);
    // A policy that reserves more pod slots now does not release used slots.
    room.slots += std::max<std::int64_t>(reference_.policy.pods_reserved_per_node, 0);
    const DeviceCount devices = then.devices_on(pod.bind_node);
    const bool has_gpus = devices.in_use() <= amounts_of(node->second.allocatable).gpus &&
                          (pod.bind_device < 0 || devices.on_device(pod.bind_device) <= 1000);
    const bool needs_gpus = amounts_of(pod.facts.request).gpus > 0;
    if (then.is_port_taken(pod.bind_node, pod.facts.request.host_ports, pod.facts.uid))
        return false;
    return room.cpu >= 0 && room.memory >= 0 && room.slots >= 0 && (!needs_gpus || has_gpus);
}

void Checker::check_reservation(const BindPod& bind, const ReferencePod& pod) {
    if (!is_kept(pod))
        fail("I1", "bind of " + to_string(bind.pod.key) + ": its kept capacity is gone");
}

// In a new term a bind whose capacity is gone is not sent again. After its deadline it cannot land,
// and later answers do not count.
void Checker::record_abandoned_binds(const ClusterState& after) {
    for (auto& [uid, pod] : reference_.pods) {
        if (!pod.open || pod.deadline >= reference_.now || pod.lands_until >= reference_.now)
            continue;
        const PodId id = after.pods.find_pod(uid);
        if (!id.exists() || after.pod(id).bind.state != BindState::waiting || is_kept(pod))
            continue;
        pod.open = false;
        pod.abandoned = true;
        pod.bind_node.clear();
    }
}

// Only the first failure after a quiet period is checked: later the engine's backoff may continue
// from an earlier failure of the same job.
void Checker::check_backoff(const BindOutcome& outcome) {
    const auto pod = reference_.pods.find(outcome.uid);
    if (pod == reference_.pods.end() || pod->second.effect != outcome.effect) return;
    if (pod->second.abandoned) return;
    // The pod was bound by a bind of an earlier term: the failure of the second bind changes
    // nothing.
    if (!pod->second.facts.node.empty()) return;
    if (outcome.result == BindResult::refused) {
        refusals_[outcome.uid] = {reference_.now + reference_.policy.backoff_maximum, false};
    }
    if (outcome.result != BindResult::failed) return;
    const ObjectKey job = job_of(pod->second.facts);
    const auto before = failed_at_.find(job);
    const bool is_first = before == failed_at_.end() ||
                          reference_.now - before->second > reference_.policy.backoff_maximum;
    failed_at_[job] = reference_.now;
    if (is_first) backoff_until_[job] = reference_.now + reference_.policy.backoff_initial;
}

}  // namespace gpuctl::sim
