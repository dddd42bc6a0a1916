// I19: elastic jobs have between their minimum and their maximum; they grow when nobody waits who
// could use the room, and shrink for those who may ask it, no further than needed.

#include <algorithm>

#include "scheduler/plan/sizes_by_gain.hpp"
#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

const JobSpec& spec_of(const ClusterState& state, const ObjectKey& job) {
    return state.job(state.find_job(job)).record->spec;
}

}  // namespace

void Judge::check_resize(const ResizeWorkload& resize, const ClusterState& after) {
    const std::string what = "resizing job " + to_string(resize.key);
    check_may_write(resize.id, resize.epoch, what);
    const JobId id = after.find_job(resize.key);
    if (!id.exists() || !after.job(id).record) return fail("I19", what + ": nobody has this job");
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

// Ranks that run go for somebody who may ask it, and each of them is needed.
void Judge::check_shrink(const ResizeWorkload& resize, const ClusterState& after) {
    const std::string what = "shrinking job " + to_string(resize.key);
    const JobRow& row = after.job(after.find_job(resize.key));
    std::map<ObjectKey, PodFacts> lowest;  // rank that goes, by whom it goes for
    check_given(resize, after);
    for (const PodId id : row.pods) {
        const PodRow& pod = after.pod(id);
        if (!pod.is_surplus || !pod.node.exists() || pod.facts.terminating) continue;
        const auto [known, is_new] = lowest.try_emplace(pod.evicted_for, pod.facts);
        if (!is_new && pod.facts.rank < known->second.rank) known->second = pod.facts;
    }
    for (const auto& [by, rank] : lowest) {
        const JobId beneficiary = after.find_job(by);
        if (!beneficiary.exists() || !after.job(beneficiary).claim_until.happened()) continue;
        ++probes.ranks_shrunk;
        const JobRow& job = after.job(beneficiary);
        if (job.pool != row.pool) {
            ++probes.ranks_shrunk_elsewhere;
            if (!shares_quota(job, row)) {
                fail("I19", what + " in another pool for job " + to_string(by));
            }
        }
        if (job.priority >= row.priority) continue;
        const auto [own, other] =
            sides(books_.queue_of(after.pod(job.pods.front()).facts), books_.queue_of(rank));
        if (own.queue.empty() || books_.guaranteed(own) == 0) {
            fail("I19", what + " for job " + to_string(by) + " of lower priority");
        }
    }
}

// Ranks that run and that nobody has claimed go only where sizes go by gain: to a size that its
// user lists, while nobody waits in the pool, not soon after it grew.
void Judge::check_given(const ResizeWorkload& resize, const ClusterState& after) {
    const JobRow& row = after.job(after.find_job(resize.key));
    const JobSpec& spec = row.record->spec;
    const auto is_given = [&](PodId id) {
        const PodRow& pod = after.pod(id);
        return pod.is_surplus && pod.standing == PodStanding::bound && !pod.facts.terminating &&
               pod.evicted_for == ObjectKey{} && pod.facts.rank < spec.replicas_max;
    };
    if (std::none_of(row.pods.begin(), row.pods.end(), is_given)) return;
    // Somebody scaled its workload, the claim that they were for fell, or it is told once more.
    const bool is_new = row.elastic.grow_from == books_.now + books_.policy.growth_pause;
    if (!is_new || (!resize.why.starts_with("gave ") && !resize.why.starts_with("from "))) return;
    ++probes.sizes_given;
    const std::string what = "shrinking job " + to_string(resize.key) + " for what others gain";
    if (spec.speeds.empty() || books_.policy.resize_pays_within <= Duration{}) {
        fail("I19", what + ": sizes do not go by gain there");
    }
    const bool is_listed =
        std::any_of(spec.speeds.begin(), spec.speeds.end(),
                    [&](const SizeSpeed& size) { return size.ranks == resize.to; });
    if (!is_listed) fail("I19", what + ": that is no size of its speedup");
    Readiness ready;
    for (const auto& [key, id] : after.jobs_by_key()) {
        if (after.job(id).pool != row.pool) continue;
        after.read_readiness(id, ready);
        const bool waits = ready.waits && ready.hold == Reason::none && !ready.pods.empty();
        if (waits) fail("I19", what + " while job " + to_string(key) + " waits");
    }
}

// Had it not grown, would somebody who waits have started?
void Judge::check_growth(const std::vector<Turn>& turns, const ClusterState& after) {
    const auto grows = [](const Turn& turn) { return turn.grows; };
    if (std::none_of(turns.begin(), turns.end(), grows)) return;
    Books before = books_;
    for (const Turn& turn : turns) {
        if (!turn.grows) continue;
        ++probes.growths_placed;
        for (const PodId id : after.job(after.find_job(turn.job)).pods) {
            const PodRow& pod = after.pod(id);
            const bool is_new = pod.standing == PodStanding::assumed && pod.placed_at == books_.now;
            if (is_new && pod.facts.rank >= turn.pod.rank) {
                before.pods.at(pod.facts.uid).promised.clear();
            }
        }
    }
    Readiness ready;
    for (const auto& [key, id] : after.jobs_by_key()) {
        after.read_readiness(id, ready);
        if (!ready.waits || ready.hold != Reason::none || ready.pods.empty()) continue;
        if (is_held_back(after, id) || is_behind_a_limit(after, id, before)) continue;
        // Behind a head that finds room on nodes later now: its turn comes in the next Plan.
        const ClassId of = after.job(id).waits_in;
        if (of.exists() && after.book().at(of).block.behind.exists()) continue;
        const PodFacts& pod = after.pod(ready.pods.front()).facts;
        const std::int64_t ranks = ready.all_or_nothing ? ready.ranks_needed : 1;
        Amounts ask;
        ask.add(amounts_of(pod.request), ranks);
        if (!before.limit_crossed(pod, ask).empty()) continue;
        if (before.fitting_in_models(pod, ranks) < ranks) continue;
        fail("I19", "an elastic job grew into the room that job " + to_string(key) + " waits for");
    }
}

// Somebody of its pool leaves, and neither for another job nor for what others gain.
bool Judge::leaves_room(const ClusterState& state, const JobRow& job) const {
    return std::any_of(books_.pods.begin(), books_.pods.end(), [&](const auto& entry) {
        const auto node = books_.nodes.find(entry.second.where());
        if (node == books_.nodes.end() || !node->second.ready) return false;
        if (node->second.pool != state.pool(job.pool).name) return false;
        const PodRow& pod = state.pod(state.find_pod(entry.first));
        const bool is_nobodys = pod.evicted_for == ObjectKey{} && !pod.is_surplus;
        return (is_nobodys || pod.evicted_for == job.key) && is_gone_soon(state, entry.first);
    });
}

// At a fixed point no rank waits that nobody will place, and no job has fewer than it must.
void Judge::look_at_sizes(const ClusterState& state) {
    for (const auto& [arrival, id] : state.elastic_jobs()) {
        const JobRow& job = state.job(id);
        const std::string name = "job " + to_string(job.key);
        const JobSpec& spec = job.record->spec;
        if (job.elastic.wanted < spec.replicas_min || job.elastic.wanted > spec.replicas_max) {
            fail("I19", name + " is to have " + std::to_string(job.elastic.wanted) + " ranks");
        }
        const bool is_told = job.elastic.wanted == job.elastic.size || job.elastic.in_flight ||
                             job.elastic.not_before > state.now() ||
                             job.workload != WorkloadState::created;
        if (!is_told) fail("I19", name + " is to change its size and nobody says so");
        Readiness ready;
        state.read_readiness(id, ready);
        const ElasticRanks ranks = state.ranks_of(job);
        // Those that others are giving up their own for stay, or, while it is new, others leave.
        const bool is_new = job.elastic.grow_from > state.now();
        const bool may_come = (!spec.speeds.empty() && is_room_to_come(state, job.pool)) ||
                              (is_new && !ranks.is_ending && leaves_room(state, job));
        if (!ready.further.empty() && ranks.is_settled && !may_come) {
            fail("I19", name + " has ranks that are neither placed nor taken back");
        }
    }
}

std::optional<Books> Judge::without_surplus(const ClusterState& state, JobId by,
                                            const PodFacts& like) const {
    const JobRow& job = state.job(by);
    const QueueName mine = books_.queue_of(like);
    std::set<std::string> going;
    std::set<std::string> elsewhere;  // other pools
    std::vector<const PodFacts*> of_others;
    for (const auto& [arrival, id] : state.elastic_jobs()) {
        const JobRow& other = state.job(id);
        const ElasticRanks ranks = state.ranks_of(other);
        // In other pools they are no room, but may be a quota.
        if (id == by || other.priority > job.priority) continue;
        if (other.pool != job.pool && !shares_quota(job, other)) continue;
        if (!other.queue.exists() || !ranks.is_settled || ranks.is_ending) continue;
        if (other.elastic.not_before > state.now()) continue;
        for (const PodId rank : other.pods) {
            const PodFacts& facts = state.pod(rank).facts;
            const BookedPod& pod = books_.pods.at(facts.uid);
            if (!pod.stays() || facts.rank < other.record->spec.replicas_min) continue;
            const auto node = books_.nodes.find(pod.where());
            // One that stays keeps those below it: too much to know by hand.
            if (node == books_.nodes.end() || !node->second.ready) return std::nullopt;
            going.insert(facts.uid);
            if (other.pool != job.pool) elsewhere.insert(node->second.pool);
            if (books_.queue_of(facts) != mine) of_others.push_back(&facts);
        }
    }
    if (going.empty()) return std::nullopt;
    Books then = books_;
    for (const std::string& uid : going) then.pods.at(uid).facts.phase = PodPhase::failed;
    for (const auto& [uid, pod] : books_.pods) {  // what else their queues lose
        const auto node = books_.nodes.find(pod.where());
        if (node == books_.nodes.end() || !elsewhere.contains(node->second.pool)) continue;
        if (is_gone_soon(state, uid)) then.pods.at(uid).facts.phase = PodPhase::failed;
    }
    for (const PodFacts* facts : of_others) {
        const QueueName theirs = books_.queue_of(*facts);
        const auto [own, other] = sides(mine, theirs);
        if (other.queue.empty()) continue;
        const std::string& model = books_.nodes.at(books_.pods.at(facts->uid).where()).gpu_model;
        if (!guarantee_broken(then, theirs, other, model).empty()) return std::nullopt;
    }
    return then;
}

}  // namespace gpuctl::sim
