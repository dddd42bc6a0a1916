// I16 of quota reservations: capacity under a limit is reserved for the head of line that the limit
// stops; the head has enough at the reported time, and no other job delays it.

#include <algorithm>
#include <tuple>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

// If the job can be tried.
std::optional<Wish> wish_of_job(const ClusterState& state, JobId id) {
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    return ready.can_be_tried() ? std::optional{wish_of(state, ready)} : std::nullopt;
}

// As in the engine, a job also counts as stopped if it may not use any of its GPU models.
enum class When : std::uint8_t { now, later };

bool is_stopped(const ReferenceModel& reference, const Wish& wish, When when) {
    if (!reference.limit_crossed(wish.like, wish.ask).empty()) return true;
    for (const QueueName& queue : reference.chain(reference.queue_of(wish.like))) {
        for (const ModelLimit& of : reference.policy_or_default(queue).models) {
            const std::int64_t held = reference.held_of_model(queue, of.model) + wish.ask.gpus;
            if (of.maximum && wish.ask.gpus > 0 && held > of.maximum->value()) return true;
        }
    }
    const QueueName leaf = reference.queue_of(wish.like);
    std::set<std::string> taken;  // GPU models that the job accepts and the pool has
    for (const auto& [name, node] : reference.nodes) {
        const bool has_gpus = node.pool == leaf.pool && amounts_of(node.allocatable).gpus > 0;
        const std::vector<std::string> named = gpu_models(wish.like.rules);
        const bool is_taken =
            named.empty() || std::find(named.begin(), named.end(), node.gpu_model) != named.end();
        if (has_gpus && is_taken) taken.insert(node.gpu_model);
    }
    const std::set<std::string> reserved = reference.models_reserved(leaf.pool);
    return !taken.empty() && std::all_of(taken.begin(), taken.end(), [&](const auto& model) {
        if (!reserved.contains(model)) return false;
        const ReferenceModel::ModelUse use = reference.model_use(leaf, model, wish.ask.gpus);
        const std::int64_t all = use.held + use.reserved + use.needed;
        const bool is_kept = when == When::now ? use.is_reserved : use.reserved > 0;
        return is_kept && use.needed > 0 && all > use.offered;
    });
}

// True if a limit blocks it that the end of other jobs does not lift: the engine reserves nothing
// then.
bool is_stopped_permanently(const ReferenceModel& reference, const Wish& wish) {
    if (!reference.budget_crossed(wish.like, wish.ask.gpus).empty()) return true;
    const std::int64_t held = reference.gpus_of_job(job_of(wish.like)) + wish.ask.gpus;
    for (const QueueName& queue : reference.chain(reference.queue_of(wish.like))) {
        const auto& most = reference.policy_or_default(queue).gpus_per_job_maximum;
        if (most && held > most->value()) return true;
    }
    return false;
}

// Whether stuck pods count as staying: they may not have been stuck when the reservation was made.
enum class Stuck : std::uint8_t { stays, goes };
void end_until(ReferenceModel& reference, Instant at, const ClusterState& state,
               Stuck stuck = Stuck::stays) {
    for (auto& [uid, pod] : reference.pods) {
        if (stuck == Stuck::stays && is_stuck(pod, state.now())) continue;
        const Instant end = pod.holds() ? end_of(pod, state) : Instant{};
        if (end.happened() && end <= at) pod.facts.phase = PodPhase::succeeded;
    }
}

}  // namespace

// True if the job would use quota reserved for a head of line and still hold it when the head is to
// start.
bool Checker::is_held_by_quota_reservation(const ClusterState& state, JobId id,
                                           const ReferenceModel& reference, Duration starts_in) {
    const JobRow& job = state.job(id);
    const PoolRow& pool = state.pool(job.pool);
    std::vector<HeadReservation> reserved = pool.reservations.under_limits;
    for (const auto& [name, other] : state.tree.pools_by_name()) {
        const HeadReservation& reservation = state.pool(other).reservations.head;
        if (!reservation.job.exists()) continue;
        // In another pool it reserves quota of their common namespace.
        if (other == job.pool || state.job(reservation.job).tenant == job.tenant) {
            reserved.push_back(reservation);
        }
    }
    const std::optional<Wish> wish = wish_of_job(state, id);
    if (!wish) return false;
    const Duration limit = wish->like.run_time_max;
    for (const HeadReservation& one : reserved) {
        if (one.job == id) continue;
        const std::optional<Wish> head = wish_of_job(state, one.job);
        if (!head) continue;
        // Reserved after a long wait, until jobs have ended in the order of their start: not
        // simulated here.
        if (!one.at.happened()) return true;
        // In a class of nearly equal run time limits, the engine only tries the first job.
        if (limit > Duration{} && state.now() + starts_in + limit <= one.at &&
            state.waiting.book().at(job.waiting.in_class).jobs.size() == 1) {
            continue;
        }
        ReferenceModel later = reference;
        end_until(later, one.at, state);
        std::int64_t ranks = 0;
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            if (row.bind.state != BindState::waiting || ranks++ >= wish->ranks) continue;
            later.assume_held(row.facts.uid);
        }
        if (is_stopped(later, *head, When::later)) return true;
        // The GPU model that the head will get is not known here.
        for (const QueueName& queue : later.chain(later.queue_of(head->like))) {
            if (!later.policy_or_default(queue).models.empty()) return true;
        }
        if (!later.models_reserved(later.queue_of(head->like).pool).empty()) return true;
    }
    return false;
}

void Checker::check_quota_reservations(const ClusterState& state) {
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        for (const HeadReservation& reserved : state.pool(pool).reservations.under_limits) {
            const PoolId its = state.job(reserved.job).pool;
            if (reserved.job == state.pool(its).reservations.head.job)
                continue;  // it has a head-of-line reservation
            ++probes.quota_reservations;
            const JobRow& job = state.job(reserved.job);
            const std::string what = "job " + to_string(job.key) + " has a quota reservation and ";
            const std::optional<Wish> wish = wish_of_job(state, reserved.job);
            if (!wish) {
                fail("I16", what + "does not wait for quota");
                continue;
            }
            const bool is_here =
                job.pool == pool;  // else it may have been tried before in this Plan
            if (is_here && !is_stopped(reference_, *wish, When::now))
                fail("I16", what + "no limit stops it");
            const BackfillPolicy policy = reference_.backfill_of(state.pool(job.pool).name);
            const bool is_due = policy.keep_after > Duration{} &&
                                state.now() - job.submitted_at >= policy.keep_after;
            if (policy.head != HeadOfLine::reserve) fail("I16", what + "its pool makes none");
            if (!reserved.at.happened()) {
                if (!is_due) fail("I16", what + "has not waited long enough");
                continue;
            }
            ReferenceModel later = reference_;
            end_until(later, reserved.at, state, Stuck::goes);
            if (is_stopped(later, *wish, When::later)) {
                fail("I16", what + "still lacks quota at " + std::to_string(reserved.at.ms()));
            }
        }
    }
}

// The job comes before the placed one in the order of their common queue and namespace.
bool Checker::is_before(const JobRow& job, const PlacedJob& placed_job) const {
    const auto rank = [&](std::int64_t priority, Instant since, std::uint64_t arrival) {
        const bool is_by_age =
            reference_.order_of(reference_.queue_of(placed_job.pod)) == QueueOrder::fifo;
        return std::tuple{
            is_by_age ? 0 : -reference_.aged(static_cast<std::int32_t>(priority), since), since,
            arrival};
    };
    return rank(job.priority, job.submitted_at, job.arrival) <
           rank(placed_job.pod.priority, placed_job.submitted_at, placed_job.arrival);
}

// True if some limit counts both pods.
bool Checker::share_a_limit(const PodFacts& a, const PodFacts& b) const {
    if (a.key.namespace_name == b.key.namespace_name &&
        reference_.tenant(a.key.namespace_name) != nullptr) {
        return true;
    }
    const QueueName x = reference_.queue_of(a);
    const QueueName y = reference_.queue_of(b);
    if (x.pool != y.pool) return false;
    const std::vector<QueueName> above = reference_.chain(y);
    for (const QueueName& queue : reference_.chain(x)) {
        if (std::find(above.begin(), above.end(), queue) != above.end()) return true;
    }
    // Quota that queues do not lend to each other, and the reserve of the pool.
    if (reference_.has_reserve(x.pool)) return true;
    for (const PoolPolicy& pool : reference_.policy.pools) {
        if (pool.name != x.pool) continue;
        for (const QueuePolicy& queue : pool.queues) {
            if (queue.lending_limit) return true;
        }
    }
    return false;
}

// Checks only unambiguous cases: the job is the first of all jobs that a limit blocks and that
// share a limit with it, and all of these are of one queue and namespace.
void Checker::check_overtaking(const std::vector<PlacedJob>& placed_jobs,
                               const ClusterState& after) {
    for (const auto& [uid, pod] : reference_.pods) {
        if (pod.holds() && is_stuck(pod, after.now())) return;
    }
    ReferenceModel before = reference_;
    for (const PlacedJob& placed_job : placed_jobs) {
        for (const std::string& uid : placed_job.uids) before.pods.at(uid).bind_node.clear();
    }
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        const std::optional<Wish> wish = wish_of_job(after, id);
        if (!wish || !is_stopped(before, *wish, When::now) || is_stopped_permanently(before, *wish))
            continue;
        // The job lacked nodes when it was last tried, and other jobs may have used up the limit
        // since.
        const ClassId of = after.job(id).waiting.in_class;
        if (!of.exists() || !after.waiting.book().at(of).block.is_limited) continue;
        // The time when nodes will be free for it is not computed here.
        if (before.fitting_in_models(wish->like, wish->ranks) < wish->ranks) continue;
        const QueueName queue = reference_.queue_of(wish->like);
        const BackfillPolicy backfill = reference_.backfill_of(queue.pool);
        if (backfill.head != HeadOfLine::reserve) continue;
        if (reference_.preemption_of(queue.pool).stops_by_run_time()) continue;
        if (reference_.order_of(queue) == QueueOrder::shortest) continue;
        check_overtaking(placed_jobs, after, id, before);
    }
}

void Checker::check_overtaking(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after,
                               JobId id, ReferenceModel before) {
    const std::optional<Wish> wish = wish_of_job(after, id);
    const JobRow& head = after.job(id);
    const QueueName queue = reference_.queue_of(wish->like);
    const auto is_alike = [&](const PodFacts& other) {
        return reference_.queue_of(other) == queue &&
               other.key.namespace_name == wish->like.key.namespace_name;
    };
    Readiness ready;
    after.waiting.read_readiness(id, ready);
    if (ready.resume) return;
    for (const auto& [key, other_id] : after.jobs.jobs_by_key()) {
        if (other_id == id) continue;
        const std::optional<Wish> other = wish_of_job(after, other_id);
        if (!other || !share_a_limit(wish->like, other->like)) continue;
        if (!is_stopped(before, *other, When::now)) continue;
        if (!is_alike(other->like)) return;
        PlacedJob as;
        as.pod = wish->like;
        as.submitted_at = head.submitted_at;
        as.arrival = head.arrival;
        if (is_before(after.job(other_id), as)) return;
    }
    std::vector<const PlacedJob*> passing;
    for (const PlacedJob& placed_job : placed_jobs) {
        if (!share_a_limit(wish->like, placed_job.pod)) continue;
        if (!is_alike(placed_job.pod) || placed_job.resumes || placed_job.grows ||
            placed_job.may_grow)
            return;
        for (const std::string& uid : placed_job.uids) {
            if (!reference_.nominated_before(uid).empty()) return;
        }
        if (is_before(head, placed_job)) {
            passing.push_back(&placed_job);
            continue;
        }
        for (const std::string& uid : placed_job.uids) {
            before.pods.at(uid).bind_node = reference_.pods.at(uid).bind_node;
        }
    }
    if (passing.empty()) return;
    std::set<Instant> ends;
    for (const auto& [uid, pod] : before.pods) {
        const Instant end = pod.holds() ? end_of(pod, after) : Instant{};
        if (end.happened())
            ends.insert(std::max(end, after.now()));  // overdue: it may end at any time
    }
    for (const Instant end : ends) {
        end_until(before, end, after);
        if (is_stopped(before, *wish, When::now)) continue;
        ++probes.overtakings_checked;
        for (const PlacedJob* placed_job : passing) {
            const Duration limit = placed_job->pod.run_time_max;
            if (limit > Duration{} && after.now() + limit <= end) continue;
            for (const std::string& uid : placed_job->uids) {
                before.pods.at(uid).bind_node = reference_.pods.at(uid).bind_node;
            }
            if (!is_stopped(before, *wish, When::now)) continue;
            return fail("I16", "job " + to_string(placed_job->job) + " overtakes job " +
                                   to_string(head.key) + ", which could start at " +
                                   std::to_string(end.ms()) + " and now cannot");
        }
        return;
    }
}

}  // namespace gpuctl::sim
