// I8: whose turn it was. What a Plan placed is compared pair by pair with what it placed later, and
// with what asks for exactly the same and still waits. Only pairs are judged whose later one was
// free to go first: it was placed in the same Plan, or would have fit in the earlier one's very
// place.

#include <algorithm>
#include <tuple>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

std::string placed(const ObjectKey& first, const ObjectKey& before) {
    return "job " + to_string(first) + " was placed before job " + to_string(before) + ", ";
}

// held / weight of a is more than that of b; amounts of this size do not overflow.
bool had_more(std::int64_t held_a, std::int64_t weight_a, std::int64_t held_b,
              std::int64_t weight_b) {
    return held_a * weight_b > held_b * weight_a;
}

// The queue or one above it says how much one job may hold.
bool limits_one_job(const Books& books, const QueueName& name) {
    const std::vector<QueueName> chain = books.chain(name);
    return std::any_of(chain.begin(), chain.end(), [&](const QueueName& level) {
        const QueuePolicy* queue = books.policy_of(level);
        return queue != nullptr && queue->gpus_per_job_maximum;
    });
}

bool limits_number_of_jobs(const Books& books, const QueueName& name) {
    const std::vector<QueueName> chain = books.chain(name);
    return std::any_of(chain.begin(), chain.end(), [&](const QueueName& level) {
        const QueuePolicy* queue = books.policy_of(level);
        return queue != nullptr && queue->jobs_maximum;
    });
}

// The queue or one above it says how many jobs may run.
bool limits_jobs(const Books& books, QueueName name) {
    const std::vector<QueueName> chain = books.chain(name);
    return std::any_of(chain.begin(), chain.end(), [&books](const QueueName& level) {
        const QueuePolicy* queue = books.policy_of(level);
        return queue != nullptr && queue->jobs_maximum.has_value();
    });
}

}  // namespace

void Judge::note_new_claims(const ClusterState& after) {
    pools_claimed_in_.clear();
    for (const JobId id : after.claims()) {
        for (const PodId pod_id : after.job(id).pods) {
            const PodRow& pod = after.pod(pod_id);
            if (pod.standing == PodStanding::claimed &&
                books_.claimed_before(pod.facts.uid).empty()) {
                pools_claimed_in_.insert(books_.queue_of(pod.facts).pool);
            }
        }
    }
    // Likewise of those who began to leave in this Plan, or are to stay after all.
    for (const auto& [uid, pod] : books_.pods) {
        const PodId id = after.find_pod(uid);
        const bool leaves = id.exists() && after.pod(id).is_leaving();
        if (pod.holds() && leaves != is_leaving(pod)) {
            pools_claimed_in_.insert(books_.queue_of(pod.facts).pool);
        }
    }
}

bool Judge::is_leaving(const BookedPod& pod) {
    return pod.facts.terminating || pod.evicting || pod.surplus;
}

// Whose turn it is goes by what stays: who is on the way out of a node that answers is as good as
// gone, unless its grace was over long ago.
bool Judge::counts_for_turns(const BookedPod& pod, const ClusterState& after) const {
    if (!pod.holds()) return false;
    if (!is_leaving(pod) || is_stuck(pod, after.now())) return true;
    const auto node = books_.nodes.find(pod.where());
    return node == books_.nodes.end() || !node->second.ready ||
           node->second.pool != books_.queue_of(pod.facts).pool;
}

void Judge::check_order(const std::vector<Turn>& turns, const ClusterState& after) {
    note_new_claims(after);
    // What each queue and tenant held before the first turn: now, less all turns.
    Held held;
    const auto sum = [&](const BookedPod& pod, std::int64_t sign) {
        held[books_.queue_of(pod.facts)][pod.facts.key.namespace_name].add(
            amounts_of(pod.facts.request), sign);
    };
    for (const auto& [uid, pod] : books_.pods) {
        if (counts_for_turns(pod, after)) sum(pod, 1);
    }
    const auto change = [&](const Turn& turn, std::int64_t sign) {
        held[books_.queue_of(turn.pod)][turn.job.namespace_name].add(amounts_of(turn.pod.request),
                                                                     turn.ranks * sign);
    };
    for (const Turn& turn : turns) change(turn, -1);
    for (std::size_t i = 0; i < turns.size(); ++i) {
        for (std::size_t j = i + 1; j < turns.size(); ++j) {
            if (turns[j].job != turns[i].job) compare(turns[i], turns[j], held);
        }
        if (!turns[i].grows && !turns[i].may_grow) compare_waiting(turns[i], after);
        change(turns[i], 1);
    }
    check_late(turns, after);
    check_passing(turns, after);
}

Amounts Judge::held_below(const QueueName& queue, const Held& held) const {
    Amounts sum;
    for (const auto& [name, by_tenant] : held) {
        const std::vector<QueueName> chain = books_.chain(name);
        if (std::find(chain.begin(), chain.end(), queue) == chain.end()) continue;
        for (const auto& [tenant, amounts] : by_tenant) sum.add(amounts);
    }
    return sum;
}

std::int64_t Judge::kept_then(const QueueName& queue, const Held& held) const {
    std::int64_t sum = 0;
    const auto add_direct = [&](const QueueName& name) {
        const auto found = held.find(name);
        if (found == held.end()) return;
        for (const auto& [tenant, amounts] : found->second) sum += amounts.gpus;
    };
    bool has_default = !queue.queue.empty();
    if (has_default) add_direct(queue);
    for (const PoolPolicy& pool : books_.policy.pools) {
        if (pool.name != queue.pool) continue;
        for (const QueuePolicy& below : pool.queues) {
            has_default = has_default || below.name == kDefaultQueue;
            if (below.parent == queue.queue) sum += kept_then({pool.name, below.name}, held);
        }
    }
    if (!has_default) add_direct({queue.pool, kDefaultQueue});
    const QueuePolicy* known = books_.policy_of(queue);
    if (!known || !known->lending_limit) return sum;
    return std::max(sum, known->guaranteed.value() - known->lending_limit->value());
}

// What is kept back stops nobody any more once it is held: the earlier turn may have opened the way
// of the later one.
bool Judge::was_kept_out(const Turn& later, const Held& held) const {
    const std::string pool = books_.queue_of(later.pod).pool;
    std::int64_t all_held = 0;
    for (const auto& [name, by_tenant] : held) {
        if (name.pool != pool || !books_.exists(name)) continue;
        for (const auto& [tenant, amounts] : by_tenant) all_held += amounts.gpus;
    }
    const std::int64_t kept = kept_then({pool, ""}, held);
    const std::int64_t asks = amounts_of(later.pod.request).gpus * later.ranks;
    return kept > all_held && kept + asks > books_.offered(pool).gpus;
}

void Judge::compare(const Turn& first, const Turn& later, const Held& held) {
    const QueueName a = books_.queue_of(first.pod);
    const QueueName b = books_.queue_of(later.pod);
    if (a.pool != b.pool || later.grows || first.may_grow || later.may_grow) return;
    if (first.grows) fail("I19", "job " + to_string(first.job) + " grew before others were tried");
    if (first.resumes || first.grows) return;
    // What is claimed is held from then on; here it is known only at the end of the step.
    if (pools_claimed_in_.contains(a.pool) || was_kept_out(later, held)) return;
    ++probes.orders_compared;
    if (later.resumes) {
        return fail("I8", placed(first.job, later.job) + "whose gang is half there");
    }
    a == b ? compare_jobs(first, later, held) : compare_queues(first, later, held);
}

// The two branches just below what both queues lie under, by the order that this has. Only what
// holds for the later job's branch, whichever of its jobs was next there, is judged.
void Judge::compare_queues(const Turn& first, const Turn& later, const Held& held) {
    std::vector<QueueName> up_a = books_.chain(books_.queue_of(first.pod));
    std::vector<QueueName> up_b = books_.chain(books_.queue_of(later.pod));
    QueueName above{up_a.front().pool, ""};
    while (!up_a.empty() && !up_b.empty() && up_a.back() == up_b.back()) {
        above = up_a.back();
        up_a.pop_back();
        up_b.pop_back();
    }
    if (up_a.empty() || up_b.empty()) return;  // pods that stayed when a queue got sub-queues
    const QueueName& a = up_a.back();
    const QueueName& b = up_b.back();
    if (above != QueueName{a.pool, ""}) ++probes.branches_compared;
    const std::string what = placed(first.job, later.job);
    static const QueuePolicy plain;
    const QueuePolicy& x = books_.policy_of(a) ? *books_.policy_of(a) : plain;
    const QueuePolicy& y = books_.policy_of(b) ? *books_.policy_of(b) : plain;
    const Amounts held_a = held_below(a, held);
    const Amounts held_b = held_below(b, held);
    const std::int64_t promised_a = promised(a);
    const std::int64_t promised_b = promised(b);
    // Whether a model's guarantee counts depends on the job that was next there: not known here.
    const auto promises_models = [](const QueuePolicy& queue) {
        return std::any_of(queue.models.begin(), queue.models.end(),
                           [](const ModelLimit& of) { return of.guaranteed > GpuMilli{}; });
    };
    if (promises_models(x) || promises_models(y)) return;
    const bool owed_a = held_a.gpus < promised_a;
    const bool owed_b = held_b.gpus < promised_b;
    const QueueOrder order = books_.order_of(above);
    if (order == QueueOrder::fifo) {
        if (owed_a != owed_b) {
            if (owed_b) fail("I8", what + "whose queue is under its guarantee");
            return;
        }
        const bool all_fifo = std::all_of(up_b.begin(), up_b.end(), [this](const QueueName& one) {
            return books_.order_of(one) == QueueOrder::fifo;
        });
        const auto age = [](const Turn& turn) { return std::tie(turn.submitted_at, turn.arrival); };
        if (all_fifo && age(later) < age(first)) fail("I8", what + "which came earlier");
        return;
    }
    if (order == QueueOrder::capacity) {
        if (owed_a != owed_b) {
            if (owed_b) fail("I8", what + "whose queue is under its guarantee");
            return;
        }
        if (owed_a && had_more(held_a.gpus, promised_a, held_b.gpus, promised_b)) {
            return fail("I8", what + "whose queue had less of its guarantee");
        }
        if (owed_a && had_more(held_b.gpus, promised_b, held_a.gpus, promised_a)) return;
    }
    if (x.priority != y.priority) {
        if (x.priority < y.priority) fail("I8", what + "whose queue has priority");
        return;
    }
    if (order == QueueOrder::priority) {
        if (owed_a != owed_b) {
            if (owed_b) fail("I8", what + "whose queue is under its guarantee");
            return;
        }
        const QueueOrder of_leaf = books_.order_of(b);
        const bool next_is_known = up_b.size() == 1 && (of_leaf == QueueOrder::priority ||
                                                        of_leaf == QueueOrder::fair_share ||
                                                        of_leaf == QueueOrder::shortest);
        if (next_is_known && books_.aged(first.pod.priority, first.submitted_at) <
                                 books_.aged(later.pod.priority, later.submitted_at)) {
            fail("I8", what + "which has priority, and so has its queue");
        }
        return;
    }
    const bool is_by_share = order == QueueOrder::fair_share || order == QueueOrder::shortest;
    if (is_by_share && owed_a != owed_b) {
        if (owed_b) fail("I8", what + "whose queue is under its guarantee");
        return;
    }
    const bool goes_by_run_time =
        order == QueueOrder::shortest && books_.preemption_of(a.pool).stops_by_run_time();
    if (goes_by_run_time) return;  // by what is left of their next jobs
    const std::int64_t share_a = books_.share(a, "", held_a);
    const std::int64_t share_b = books_.share(b, "", held_b);
    if (had_more(share_a, x.weight, share_b, y.weight)) {
        fail("I8", what + "whose queue had less for its weight");
    }
    if (had_more(share_b, y.weight, share_a, x.weight)) return;
    if (had_more(books_.share_lately(a, ""), x.weight, books_.share_lately(b, ""), y.weight)) {
        fail("I8", what + "whose queue had less lately for its weight");
    }
}

void Judge::compare_jobs(const Turn& first, const Turn& later, const Held& held) {
    const QueueName queue = books_.queue_of(first.pod);
    const std::string what = placed(first.job, later.job);
    const QueueOrder order = books_.order_of(queue);
    const std::string& tenant_a = first.job.namespace_name;
    const std::string& tenant_b = later.job.namespace_name;
    const auto held_by = [&](const std::string& tenant) {
        const auto of = held.find(queue);
        if (of == held.end() || !of->second.contains(tenant)) return Amounts{};
        return of->second.at(tenant);
    };
    if (order == QueueOrder::capacity && tenant_a != tenant_b) {
        const auto quota = [&](const std::string& name) {
            std::int64_t most = books_.offered(queue.pool).gpus;
            if (const TenantPolicy* known = books_.tenant(name)) {
                for (const PoolQuota& of : known->pools) {
                    if (of.pool == queue.pool && of.gpu_maximum) most = of.gpu_maximum->value();
                }
            }
            return std::max<std::int64_t>(most, 1);
        };
        const auto in_pool = [&](const std::string& tenant) {
            std::int64_t sum = 0;
            for (const auto& [name, by_tenant] : held) {
                if (name.pool != queue.pool || !books_.exists(name)) continue;
                if (by_tenant.contains(tenant)) sum += by_tenant.at(tenant).gpus;
            }
            return sum;
        };
        if (had_more(in_pool(tenant_a), quota(tenant_a), in_pool(tenant_b), quota(tenant_b))) {
            return fail("I8", what + "whose namespace had less of its quota");
        }
        if (had_more(in_pool(tenant_b), quota(tenant_b), in_pool(tenant_a), quota(tenant_a))) {
            return;
        }
    }
    if (order != QueueOrder::fifo) {
        const std::int64_t x = books_.aged(first.pod.priority, first.submitted_at);
        const std::int64_t y = books_.aged(later.pod.priority, later.submitted_at);
        if (x < y) fail("I8", what + "which has priority");
        if (x != y) return;
    }
    if (order == QueueOrder::shortest) return;  // by what it was predicted to take
    if (order == QueueOrder::fair_share && tenant_a != tenant_b) {
        const auto weight = [this](const std::string& name) {
            const TenantPolicy* known = books_.tenant(name);
            return known ? known->weight : books_.policy.default_tenant_weight;
        };
        const std::int64_t x = books_.share(queue, tenant_a, held_by(tenant_a));
        const std::int64_t y = books_.share(queue, tenant_b, held_by(tenant_b));
        if (had_more(x, weight(tenant_a), y, weight(tenant_b))) {
            return fail("I8", what + "whose namespace had less for its weight");
        }
        if (had_more(y, weight(tenant_b), x, weight(tenant_a))) return;
        const std::int64_t lately_x = books_.share_lately(queue, tenant_a);
        const std::int64_t lately_y = books_.share_lately(queue, tenant_b);
        if (had_more(lately_x, weight(tenant_a), lately_y, weight(tenant_b))) {
            return fail("I8", what + "whose namespace had less lately for its weight");
        }
        if (had_more(lately_y, weight(tenant_b), lately_x, weight(tenant_a))) return;
    }
    if (std::tie(later.submitted_at, later.arrival) < std::tie(first.submitted_at, first.arrival)) {
        fail("I8", what + "which came earlier");
    }
}

void Judge::compare_waiting(const Turn& turn, const ClusterState& after) {
    if (turn.resumes) return;
    const BackfillPolicy backfill = books_.backfill_of(books_.queue_of(turn.pod).pool);
    if (books_.order_of(books_.queue_of(turn.pod)) == QueueOrder::shortest) return;
    Readiness ready;
    for (const auto& [key, id] : after.jobs_by_key()) {
        const JobRow& other = after.job(id);
        if (key == turn.job || key.namespace_name != turn.job.namespace_name) continue;
        const bool by_age = books_.order_of(books_.queue_of(turn.pod)) == QueueOrder::fifo;
        const std::int64_t x = by_age ? 0 : books_.aged(turn.pod.priority, turn.submitted_at);
        const std::int64_t y = by_age ? 0 : books_.aged(other.priority, other.submitted_at);
        if (std::tie(x, other.submitted_at, other.arrival) >=
            std::tie(y, turn.submitted_at, turn.arrival)) {
            continue;  // it comes after
        }
        after.read_readiness(id, ready);
        if (ready.hold != Reason::none || ready.pods.empty() || ready.resume) continue;
        if (ready.all_or_nothing != turn.gang) continue;
        if (turn.gang && ready.ranks_needed != turn.ranks) continue;
        const PodFacts& pod = after.pod(ready.pods.front()).facts;
        if (pod.request != turn.pod.request || pod.rules != turn.pod.rules ||
            books_.queue_of(pod) != books_.queue_of(turn.pod)) {
            continue;
        }
        // Beside a promise it depends on the limit who may go.
        if (backfill.head == HeadOfLine::reserve && pod.run_time_max != turn.pod.run_time_max) {
            continue;
        }
        // One may use the reserve.
        if (books_.has_reserve(books_.queue_of(pod).pool)) continue;
        // One may need more of a budget.
        if (!books_.budgets().empty() && pod.run_time_max != turn.pod.run_time_max) continue;
        // Maintenance may close nodes to one of them only.
        const bool is_closed_to_one =
            std::any_of(books_.nodes.begin(), books_.nodes.end(), [&](const auto& node) {
                return books_.admits(node.second, pod) != books_.admits(node.second, turn.pod);
            });
        if (is_closed_to_one) continue;
        // One of them may run already and be no further job.
        if (limits_number_of_jobs(books_, books_.queue_of(pod))) continue;
        // What it runs already counts against what one job may hold.
        if (books_.gpus_of_job(key) > 0 && limits_one_job(books_, books_.queue_of(pod))) continue;
        // Where its others are decides where it may go.
        const bool goes_by_others = pod.rules.topology.any() || pod.rules.takes_several_models();
        if (goes_by_others && books_.pods_held(key) > 0) continue;
        // More of a job that runs is no job more.
        if (books_.pods_held(turn.job) > turn.ranks && books_.pods_held(key) == 0 &&
            limits_jobs(books_, books_.queue_of(pod))) {
            continue;
        }
        ++probes.orders_compared;
        if (x > y) continue;
        fail("I8", placed(turn.job, key) + "which asks for the same, comes first and still waits");
    }
}

}  // namespace gpuctl::sim
