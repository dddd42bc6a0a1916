// I19: elastic jobs have between their minimum and maximum of ranks; they grow when no waiting job
// could use the capacity, and shrink only for jobs that may ask for it, no further than needed.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

const JobSpec& spec_of(const ClusterState& state, const ObjectKey& job) {
    return state.job(state.jobs.find_job(job)).record->spec;
}

// True if ranks of elastic jobs of the pool are being removed for the speedup of other jobs: their
// capacity is not nominated.
bool frees_capacity_for_speedup(const ClusterState& state, PoolId pool) {
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.pool != pool || !ElasticJobs::is_elastic(job)) continue;
        for (const PodId rank : job.pods) {
            const PodRow& pod = state.pod(rank);
            const bool has_no_preemptor = pod.eviction.preemptor == ObjectKey{};
            if (pod.is_surplus && pod.node.exists() && has_no_preemptor) return true;
        }
    }
    return false;
}

// True if the resize in progress removes running ranks without a nomination and without
// maintenance: only marginal-speedup sizing does that.
bool cedes_ranks(const ClusterState& state, const JobRow& job) {
    if (job.elastic.given == 0 || job.elastic.given_for != EvictionCause::shrunk) return false;
    return std::none_of(job.pods.begin(), job.pods.end(), [&](PodId id) {
        const PodRow& pod = state.pod(id);
        return pod.is_surplus && pod.eviction.preemptor != ObjectKey{};
    });
}

}  // namespace

void Checker::check_resize(const ResizeWorkload& resize, const ClusterState& after) {
    const std::string what = "resizing job " + to_string(resize.key);
    check_may_write(resize.id, resize.epoch, what);
    const JobId id = after.jobs.find_job(resize.key);
    if (!id.exists() || !after.job(id).record) return fail("I19", what + ": no such job");
    const JobSpec& spec = spec_of(after, resize.key);
    if (resize.to < spec.replicas_min || resize.to > spec.replicas_max) {
        fail("I19", what + " to " + std::to_string(resize.to) + " ranks, outside of its range");
    }
    if (resize.to > resize.from) {
        ++probes.growths_sent;
    } else {
        check_shrink(resize, after);
    }
}

// Running ranks are removed only for a job that may ask for it, and each of them is needed.
void Checker::check_shrink(const ResizeWorkload& resize, const ClusterState& after) {
    const std::string what = "shrinking job " + to_string(resize.key);
    const JobRow& row = after.job(after.jobs.find_job(resize.key));
    std::map<ObjectKey, PodFacts> lowest;  // lowest removed rank by beneficiary
    check_ceded_ranks(resize, after);
    for (const PodId id : row.pods) {
        const PodRow& pod = after.pod(id);
        if (!pod.is_surplus || !pod.node.exists() || pod.facts.terminating) continue;
        const auto [known, is_new] = lowest.try_emplace(pod.eviction.preemptor, pod.facts);
        if (!is_new && pod.facts.rank < known->second.rank) known->second = pod.facts;
    }
    for (const auto& [by, rank] : lowest) {
        const JobId preemptor = after.jobs.find_job(by);
        if (!preemptor.exists() || !after.job(preemptor).nomination.exists()) continue;
        ++probes.ranks_shrunk;
        const JobRow& job = after.job(preemptor);
        if (job.pool != row.pool) {
            ++probes.ranks_shrunk_elsewhere;
            if (!shares_quota(job, row)) {
                fail("I19", what + " in another pool for job " + to_string(by));
            }
        }
        if (job.priority >= row.priority) continue;
        const auto [own, other] = diverging_queues(
            reference_.queue_of(after.pod(job.pods.front()).facts), reference_.queue_of(rank));
        if (own.queue.empty() || reference_.guaranteed(own) == 0) {
            fail("I19", what + " for job " + to_string(by) + " of lower priority");
        }
    }
}

// Running ranks without a beneficiary are removed only by marginal-speedup sizing: to a size of the
// job's speedup curve, while no job waits in the pool.
void Checker::check_ceded_ranks(const ResizeWorkload& resize, const ClusterState& after) {
    const JobRow& row = after.job(after.jobs.find_job(resize.key));
    const JobSpec& spec = row.record->spec;
    const auto is_given = [&](PodId id) {
        const PodRow& pod = after.pod(id);
        return pod.is_surplus && pod.bind.state == BindState::bound && !pod.facts.terminating &&
               pod.eviction.preemptor == ObjectKey{} && pod.facts.rank < spec.replicas_max;
    };
    if (std::none_of(row.pods.begin(), row.pods.end(), is_given)) return;
    // The resize is not new if the workload was scaled, the nomination was dropped, or the resize
    // is repeated.
    const bool is_new = row.elastic.grow_from == reference_.now + reference_.policy.growth_pause;
    if (!is_new || !cedes_ranks(after, row)) return;
    ++probes.sizes_ceded;
    const std::string what =
        "shrinking job " + to_string(resize.key) + " for the speedup of other jobs";
    if (spec.speeds.empty() || reference_.policy.resize_pays_within <= Duration{}) {
        fail("I19", what + ": there is no marginal-speedup sizing there");
    }
    const bool is_listed =
        std::any_of(spec.speeds.begin(), spec.speeds.end(),
                    [&](const SizeSpeed& size) { return size.ranks == resize.to; });
    if (!is_listed) fail("I19", what + ": that is no size of its speedup");
    Readiness ready;
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        if (after.job(id).pool != row.pool) continue;
        after.waiting.read_readiness(id, ready);
        const bool waits = ready.waits && ready.can_be_tried();
        if (waits) fail("I19", what + " while job " + to_string(key) + " waits");
    }
}

// Checks whether a waiting job would have started without the growth.
void Checker::check_growth(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after) {
    const auto grows = [](const PlacedJob& placed_job) { return placed_job.grows; };
    if (std::none_of(placed_jobs.begin(), placed_jobs.end(), grows)) return;
    ReferenceModel before = reference_;
    for (const PlacedJob& placed_job : placed_jobs) {
        if (!placed_job.grows) continue;
        ++probes.growths_placed;
        for (const PodId id : after.job(after.jobs.find_job(placed_job.job)).pods) {
            const PodRow& pod = after.pod(id);
            const bool is_new =
                pod.bind.state == BindState::assumed && pod.bind.placed_at == reference_.now;
            if (is_new && pod.facts.rank >= placed_job.pod.rank) {
                before.pods.at(pod.facts.uid).bind_node.clear();
            }
        }
    }
    Readiness ready;
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        after.waiting.read_readiness(id, ready);
        if (!ready.waits || !ready.can_be_tried()) continue;
        if (is_held_by_reservation(after, id) || is_held_by_quota_reservation(after, id, before))
            continue;
        // The job is behind a head that finds nodes only later, so it is tried in the next Plan.
        const ClassId of = after.job(id).waiting.in_class;
        if (of.exists() && after.waiting.book().at(of).block.behind.exists()) continue;
        if (!can_start(before, wish_of(after, ready))) continue;
        fail("I19",
             "an elastic job grew into the capacity that job " + to_string(key) + " waits for");
    }
}

// True if a pod of the pool is terminating, for this job or for no job and no speedup of other
// jobs.
bool Checker::frees_capacity(const ClusterState& state, const JobRow& job) const {
    return std::any_of(reference_.pods.begin(), reference_.pods.end(), [&](const auto& entry) {
        const auto node = reference_.nodes.find(entry.second.where());
        if (node == reference_.nodes.end() || !node->second.ready) return false;
        if (node->second.pool != state.pool(job.pool).name) return false;
        const PodRow& pod = state.pod(state.pods.find_pod(entry.first));
        const bool is_for_no_job = pod.eviction.preemptor == ObjectKey{} && !pod.is_surplus;
        return (is_for_no_job || pod.eviction.preemptor == job.key) &&
               is_terminating_or_evicted(state, entry.first);
    });
}

// Checks at a fixed point that no rank waits without being planned, and that no job has fewer ranks
// than its minimum.
void Checker::check_sizes(const ClusterState& state) {
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        const JobRow& job = state.job(id);
        const std::string name = "job " + to_string(job.key);
        const JobSpec& spec = job.record->spec;
        if (job.elastic.wanted < spec.replicas_min || job.elastic.wanted > spec.replicas_max) {
            fail("I19", name + " is to have " + std::to_string(job.elastic.wanted) + " ranks");
        }
        const bool is_reported = job.elastic.wanted == job.elastic.size ||
                                 job.elastic.phase() == ElasticPhase::in_flight ||
                                 job.elastic.not_before > state.now() ||
                                 job.workload.state != WorkloadState::created;
        if (!is_reported) fail("I19", name + " must change its size and is not resized");
        Readiness ready;
        state.waiting.read_readiness(id, ready);
        const ElasticRanks ranks = state.elastic.ranks_of(job);
        // Ranks may stay while other jobs cede their ranks to the job or, just after growth, while
        // pods terminate.
        const bool is_new = job.elastic.grow_from > state.now();
        const bool may_come =
            (!spec.speeds.empty() && frees_capacity_for_speedup(state, job.pool)) ||
            (is_new && !ranks.is_ending && frees_capacity(state, job));
        if (!ready.further.empty() && ranks.is_settled && !may_come) {
            fail("I19", name + " has ranks that are neither placed nor removed");
        }
    }
}

std::optional<ReferenceModel> Checker::without_surplus(const ClusterState& state, JobId by,
                                                       const PodFacts& like) const {
    const JobRow& job = state.job(by);
    const QueueName mine = reference_.queue_of(like);
    std::set<std::string> going;
    std::set<std::string> elsewhere;  // other pools
    std::vector<const PodFacts*> of_others;
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        const JobRow& other = state.job(id);
        const ElasticRanks ranks = state.elastic.ranks_of(other);
        // In other pools they free no nodes, but may free quota.
        if (id == by || other.priority > job.priority) continue;
        if (other.pool != job.pool && !shares_quota(job, other)) continue;
        if (!other.queue.exists() || !ranks.is_settled || ranks.is_ending) continue;
        if (other.elastic.not_before > state.now()) continue;
        for (const PodId rank : other.pods) {
            const PodFacts& facts = state.pod(rank).facts;
            const ReferencePod& pod = reference_.pods.at(facts.uid);
            if (!pod.stays() || facts.rank < other.record->spec.replicas_min) continue;
            const auto node = reference_.nodes.find(pod.where());
            // A rank that stays keeps all lower ranks. This is not modelled.
            if (node == reference_.nodes.end() || !node->second.ready) return std::nullopt;
            going.insert(facts.uid);
            if (other.pool != job.pool) elsewhere.insert(node->second.pool);
            if (reference_.queue_of(facts) != mine) of_others.push_back(&facts);
        }
    }
    if (going.empty()) return std::nullopt;
    ReferenceModel then = reference_;
    for (const std::string& uid : going) then.pods.at(uid).facts.phase = PodPhase::failed;
    for (const auto& [uid, pod] : reference_.pods) {  // other pods that terminate in these pools
        const auto node = reference_.nodes.find(pod.where());
        if (node == reference_.nodes.end() || !elsewhere.contains(node->second.pool)) continue;
        if (is_terminating_or_evicted(state, uid)) then.pods.at(uid).facts.phase = PodPhase::failed;
    }
    for (const PodFacts* facts : of_others) {
        const QueueName theirs = reference_.queue_of(*facts);
        const auto [own, other] = diverging_queues(mine, theirs);
        if (other.queue.empty()) continue;
        const std::string& model =
            reference_.nodes.at(reference_.pods.at(facts->uid).where()).gpu_model;
        if (!guarantee_broken(then, theirs, other, model).empty()) return std::nullopt;
    }
    return then;
}

}  // namespace gpuctl::sim
