// I16, of what limits leave: it is kept for who cannot start for want of it and is first in line,
// who has enough by the moment that was told; and nobody takes it who would keep it from that.

#include <algorithm>
#include <tuple>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

struct Wish {
    const PodFacts* pod = nullptr;
    std::int64_t ranks = 0;
    Amounts amounts;
};

std::optional<Wish> wish_of(const ClusterState& state, JobId id) {
    Readiness ready;
    state.read_readiness(id, ready);
    if (ready.hold != Reason::none || ready.pods.empty()) return std::nullopt;
    Wish wish;
    wish.pod = &state.pod(ready.pods.front()).facts;
    wish.ranks = ready.all_or_nothing ? ready.ranks_needed : 1;
    wish.amounts.add(amounts_of(wish.pod->request), wish.ranks);
    return wish;
}

// As the engine has it: a job that may not be on one of its GPU models is stopped by that.
enum class When : std::uint8_t { now, later };

bool is_stopped(const Books& books, const Wish& wish, When when) {
    if (!books.limit_crossed(*wish.pod, wish.amounts).empty()) return true;
    for (const QueueName& queue : books.chain(books.queue_of(*wish.pod))) {
        const QueuePolicy* known = books.policy_of(queue);
        if (known == nullptr) continue;
        for (const ModelLimit& of : known->models) {
            const std::int64_t held = books.held_of_model(queue, of.model) + wish.amounts.gpus;
            if (of.maximum && wish.amounts.gpus > 0 && held > of.maximum->value()) return true;
        }
    }
    const QueueName leaf = books.queue_of(*wish.pod);
    std::set<std::string> taken;  // that it takes and are there
    for (const auto& [name, node] : books.nodes) {
        const bool has_gpus = node.pool == leaf.pool && amounts_of(node.allocatable).gpus > 0;
        const std::vector<std::string> named = gpu_models(wish.pod->rules);
        const bool is_taken =
            named.empty() || std::find(named.begin(), named.end(), node.gpu_model) != named.end();
        if (has_gpus && is_taken) taken.insert(node.gpu_model);
    }
    const std::set<std::string> kept = books.models_kept(leaf.pool);
    return !taken.empty() && std::all_of(taken.begin(), taken.end(), [&](const auto& model) {
        if (!kept.contains(model)) return false;
        const Books::ModelLent lent = books.model_lent(leaf, model, wish.amounts.gpus);
        const std::int64_t all = lent.held + lent.kept + lent.needed;
        const bool is_kept = when == When::now ? lent.is_kept : lent.kept > 0;
        return is_kept && lent.needed > 0 && all > lent.offered;
    });
}

// By something that no end of others lifts: the engine keeps nothing for it then.
bool is_stopped_for_good(const Books& books, const Wish& wish) {
    if (!books.budget_crossed(*wish.pod, wish.amounts.gpus).empty()) return true;
    const std::int64_t held = books.gpus_of_job(job_of(*wish.pod)) + wish.amounts.gpus;
    for (const QueueName& queue : books.chain(books.queue_of(*wish.pod))) {
        const QueuePolicy* known = books.policy_of(queue);
        if (known == nullptr || !known->gpus_per_job_maximum) continue;
        if (held > known->gpus_per_job_maximum->value()) return true;
    }
    return false;
}

// Who is stuck by now may not have been when it was told.
enum class Stuck : std::uint8_t { stays, goes };
void end_until(Books& books, Instant at, const ClusterState& state, Stuck stuck = Stuck::stays) {
    for (auto& [uid, pod] : books.pods) {
        if (stuck == Stuck::stays && is_stuck(pod, state.now())) continue;
        const Instant end = pod.holds() ? end_of(pod, state) : Instant{};
        if (end.happened() && end <= at) pod.facts.phase = PodPhase::succeeded;
    }
}

}  // namespace

// It would take what is kept for somebody, and still holds it when that is to start.
bool Judge::is_behind_a_limit(const ClusterState& state, JobId id, const Books& books,
                              Duration starts_in) {
    const JobRow& job = state.job(id);
    const PoolRow& pool = state.pool(job.pool);
    std::vector<Promise> kept = pool.limits_kept;
    for (const auto& [name, other] : state.pools_by_name()) {
        const Promise& promise = state.pool(other).promise;
        if (!promise.job.exists()) continue;
        // In another pool it keeps what their namespace may hold.
        if (other == job.pool || state.job(promise.job).tenant == job.tenant) {
            kept.push_back(promise);
        }
    }
    const std::optional<Wish> wish = wish_of(state, id);
    if (!wish) return false;
    const Duration limit = wish->pod->run_time_max;
    for (const Promise& one : kept) {
        if (one.job == id) continue;
        const std::optional<Wish> head = wish_of(state, one.job);
        if (!head) continue;
        // Kept after a long wait, until work has ended in the order in which it began: that is not
        // lived on here.
        if (!one.at.happened()) return true;
        // Of a class of limits nearly alike, the first is tried for all.
        if (limit > Duration{} && state.now() + starts_in + limit <= one.at &&
            state.book().at(job.waits_in).jobs.size() == 1) {
            continue;
        }
        Books later = books;
        end_until(later, one.at, state);
        std::int64_t ranks = 0;
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            if (row.standing != PodStanding::waiting || ranks++ >= wish->ranks) continue;
            later.suppose_held(row.facts.uid);
        }
        if (is_stopped(later, *head, When::later)) return true;
        // On which model it will be is not known here.
        for (const QueueName& queue : later.chain(later.queue_of(*head->pod))) {
            const QueuePolicy* known = later.policy_of(queue);
            if (known != nullptr && !known->models.empty()) return true;
        }
        if (!later.models_kept(later.queue_of(*head->pod).pool).empty()) return true;
    }
    return false;
}

void Judge::check_limits_kept(const ClusterState& state) {
    for (const auto& [name, pool] : state.pools_by_name()) {
        for (const Promise& kept : state.pool(pool).limits_kept) {
            const PoolId its = state.job(kept.job).pool;
            if (kept.job == state.pool(its).promise.job) continue;  // room is promised to it
            ++probes.limits_kept;
            const JobRow& job = state.job(kept.job);
            const std::string who = "job " + to_string(job.key) + " is kept what limits leave and ";
            const std::optional<Wish> wish = wish_of(state, kept.job);
            if (!wish) {
                fail("I16", who + "does not wait for any");
                continue;
            }
            const bool is_here = job.pool == pool;  // else its turn may be over for this Plan
            if (is_here && !is_stopped(books_, *wish, When::now))
                fail("I16", who + "is stopped by none");
            const BackfillPolicy policy = books_.backfill_of(state.pool(job.pool).name);
            const bool is_due = policy.keep_after > Duration{} &&
                                state.now() - job.submitted_at >= policy.keep_after;
            if (policy.head != HeadOfLine::reserve) fail("I16", who + "is to step aside");
            if (!kept.at.happened()) {
                if (!is_due) fail("I16", who + "has not waited long enough");
                continue;
            }
            Books later = books_;
            end_until(later, kept.at, state, Stuck::goes);
            if (is_stopped(later, *wish, When::later)) {
                fail("I16", who + "has not enough of them at " + std::to_string(kept.at.ms()));
            }
        }
    }
}

// Before it in the order of their queue, both of one namespace; where that is plain.
bool Judge::is_before(const JobRow& job, const Turn& turn) const {
    const auto rank = [&](std::int64_t priority, Instant since, std::uint64_t arrival) {
        const bool is_by_age = books_.order_of(books_.queue_of(turn.pod)) == QueueOrder::fifo;
        return std::tuple{is_by_age ? 0 : -books_.aged(static_cast<std::int32_t>(priority), since),
                          since, arrival};
    };
    return rank(job.priority, job.submitted_at, job.arrival) <
           rank(turn.pod.priority, turn.submitted_at, turn.arrival);
}

// A limit may count both.
bool Judge::share_an_account(const PodFacts& a, const PodFacts& b) const {
    if (a.key.namespace_name == b.key.namespace_name &&
        books_.tenant(a.key.namespace_name) != nullptr) {
        return true;
    }
    const QueueName x = books_.queue_of(a);
    const QueueName y = books_.queue_of(b);
    if (x.pool != y.pool) return false;
    const std::vector<QueueName> above = books_.chain(y);
    for (const QueueName& queue : books_.chain(x)) {
        if (std::find(above.begin(), above.end(), queue) != above.end()) return true;
    }
    // What queues keep back from each other, and what a reserve leaves.
    if (books_.has_reserve(x.pool)) return true;
    for (const PoolPolicy& pool : books_.policy.pools) {
        if (pool.name != x.pool) continue;
        for (const QueuePolicy& queue : pool.queues) {
            if (queue.lending_limit) return true;
        }
    }
    return false;
}

// Only where what has to be judged is plain: of the jobs that a limit stops and that share one with
// it, it is the first, as all of them are of one queue and namespace.
void Judge::check_passing(const std::vector<Turn>& turns, const ClusterState& after) {
    for (const auto& [uid, pod] : books_.pods) {
        if (pod.holds() && is_stuck(pod, after.now())) return;
    }
    Books before = books_;
    for (const Turn& turn : turns) {
        for (const std::string& uid : turn.uids) before.pods.at(uid).promised.clear();
    }
    for (const auto& [key, id] : after.jobs_by_key()) {
        const std::optional<Wish> wish = wish_of(after, id);
        if (!wish || !is_stopped(before, *wish, When::now) || is_stopped_for_good(before, *wish))
            continue;
        // When it was tried last it was room that it lacked, and others may have used up the limit.
        const ClassId of = after.job(id).waits_in;
        if (!of.exists() || !after.book().at(of).block.is_limited) continue;
        // When there will be room for it is not counted here.
        if (before.fitting_in_models(*wish->pod, wish->ranks) < wish->ranks) continue;
        const QueueName queue = books_.queue_of(*wish->pod);
        const BackfillPolicy backfill = books_.backfill_of(queue.pool);
        if (backfill.head != HeadOfLine::reserve) continue;
        if (books_.preemption_of(queue.pool).stops_by_run_time()) continue;
        if (books_.order_of(queue) == QueueOrder::shortest) continue;
        check_passing(turns, after, id, before);
    }
}

void Judge::check_passing(const std::vector<Turn>& turns, const ClusterState& after, JobId id,
                          Books before) {
    const std::optional<Wish> wish = wish_of(after, id);
    const JobRow& head = after.job(id);
    const QueueName queue = books_.queue_of(*wish->pod);
    const auto is_alike = [&](const PodFacts& other) {
        return books_.queue_of(other) == queue &&
               other.key.namespace_name == wish->pod->key.namespace_name;
    };
    Readiness ready;
    after.read_readiness(id, ready);
    if (ready.resume) return;
    for (const auto& [key, other_id] : after.jobs_by_key()) {
        if (other_id == id) continue;
        const std::optional<Wish> other = wish_of(after, other_id);
        if (!other || !share_an_account(*wish->pod, *other->pod)) continue;
        if (!is_stopped(before, *other, When::now)) continue;
        if (!is_alike(*other->pod)) return;
        Turn as;
        as.pod = *wish->pod;
        as.submitted_at = head.submitted_at;
        as.arrival = head.arrival;
        if (is_before(after.job(other_id), as)) return;
    }
    std::vector<const Turn*> passing;
    for (const Turn& turn : turns) {
        if (!share_an_account(*wish->pod, turn.pod)) continue;
        if (!is_alike(turn.pod) || turn.resumes || turn.grows || turn.may_grow) return;
        for (const std::string& uid : turn.uids) {
            if (!books_.claimed_before(uid).empty()) return;
        }
        if (is_before(head, turn)) {
            passing.push_back(&turn);
            continue;
        }
        for (const std::string& uid : turn.uids) {
            before.pods.at(uid).promised = books_.pods.at(uid).promised;
        }
    }
    if (passing.empty()) return;
    std::set<Instant> ends;
    for (const auto& [uid, pod] : before.pods) {
        const Instant end = pod.holds() ? end_of(pod, after) : Instant{};
        if (end.happened()) ends.insert(std::max(end, after.now()));  // at any moment, if overdue
    }
    for (const Instant end : ends) {
        end_until(before, end, after);
        if (is_stopped(before, *wish, When::now)) continue;
        ++probes.passings_judged;
        for (const Turn* turn : passing) {
            const Duration limit = turn->pod.run_time_max;
            if (limit > Duration{} && after.now() + limit <= end) continue;
            for (const std::string& uid : turn->uids) {
                before.pods.at(uid).promised = books_.pods.at(uid).promised;
            }
            if (!is_stopped(before, *wish, When::now)) continue;
            return fail("I16", "job " + to_string(turn->job) + " passes job " +
                                   to_string(head.key) + ", which could start at " +
                                   std::to_string(end.ms()) + " and now cannot");
        }
        return;
    }
}

}  // namespace gpuctl::sim
