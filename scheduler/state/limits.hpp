#pragma once
// The limits between a job and the room it asks for: of its queue, of every queue above that, of
// the pool, of its namespace. One list: the planner stops at the first that is hit, explain tells
// all of them, so that they cannot disagree.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl {

// What these pods ask for together.
inline Load load_of(const ClusterState& state, const std::vector<PodId>& pods) {
    Load sum;
    for (const PodId pod : pods) {
        const Shape& shape = state.shapes().at(state.pod(pod).shape);
        sum.add({shape.gpus, shape.cpu, shape.memory});
    }
    return sum;
}

// Visits every limit that `ask` more would cross, the queue's own first, then upwards, then the
// namespace's; `visit(const LimitHit&)` returns false to stop. With a relief: those that it would
// cross if the pods of that were gone.
template <typename Visit>
void visit_limits(const ClusterState& state, const JobRow& job, const Load& ask, Visit visit,
                  const Relief* relief = nullptr);

// Visits every GPU model of which a queue of the chain may not hold `ask` more, or of which that
// would leave other queues less than they do not lend: no part of the job is placed on its nodes
// then (it is stopped by that unless others are left: LimitHit::leaves_others). That is stricter
// than the limit for a job that could be split over models, and never laxer.
template <typename Visit>
void visit_model_limits(const ClusterState& state, const JobRow& job, const Load& ask, Visit visit,
                        const Relief* relief = nullptr);

// One of GPU time: what was used comes back by nobody's going.
inline bool is_budget(LimitKind kind) {
    return kind == LimitKind::queue_budget || kind == LimitKind::tenant_budget;
}

// --- implementation ---

namespace limits {

constexpr bool crosses(std::int64_t limit, std::int64_t held, std::int64_t needed) {
    return needed > 0 && held + needed > limit;
}

// What was used of a budget, is committed to what runs, and would be needed until the job's limit,
// or the period, ends. False when the visitor had enough.
template <typename Visit>
bool visit_budget(const Budget* budget, const JobRow& job, GpuMilli gpus, Instant now,
                  GpuTime relieved, LimitHit hit, Visit& visit) {
    if (budget == nullptr) return true;
    const Spending& spending = budget->spending;
    GpuTime held = spending.used(now);
    if (!planted(PlantedBug::spend_without_committing)) held += spending.committed(now) - relieved;
    hit.limit = (budget->policy.amount + spending.carried()).value();
    hit.held = held.value();
    hit.needed = spending.needed(gpus, job.run_time_max, now).value();
    return !crosses(hit.limit, hit.held, hit.needed) || visit(hit);
}

// What one queue of the chain says. `grows` is by how much what it keeps would grow.
template <typename Visit>
bool visit_queue(const QueueRow& queue, QueueId id, const Relief::OfJob& job, const Load& ask,
                 GpuMilli kept, GpuMilli grows, const Relief* relief, Visit& visit) {
    const std::int64_t gpus =
        ask.gpus.value() - (planted(PlantedBug::queue_maximum_off_by_one) ? kGpuMilliPerGpu : 0);
    const std::int64_t held =
        queue.account.held.gpus.value() - (relief ? relief->of_queue(id).gpus.value() : 0);
    const std::int64_t jobs_held = queue.jobs_held - (relief ? relief->jobs_of(id) : 0);
    const auto hit = [&](LimitKind kind, std::int64_t limit, std::int64_t has, std::int64_t needs) {
        return visit(LimitHit{kind, id, limit, has, needs});
    };
    if (queue.maximum && crosses(queue.maximum->value(), held, gpus) &&
        !planted(PlantedBug::skip_queue_maximum)) {
        if (!hit(LimitKind::queue_maximum, queue.maximum->value(), held, gpus)) return false;
    }
    if (queue.borrowing_limit) {
        const std::int64_t most = queue.guaranteed.value() + queue.borrowing_limit->value() +
                                  (planted(PlantedBug::borrow_one_too_many) ? kGpuMilliPerGpu : 0);
        if (crosses(most, held, gpus) && !hit(LimitKind::queue_borrowing, most, held, gpus)) {
            return false;
        }
    }
    const auto cap = queue.cap();
    // Said beside those where more is kept than held: less is left than they seem to leave.
    const bool is_said = cap && kept.value() == held && crosses(cap->value(), held, gpus);
    if (cap && !is_said && !planted(PlantedBug::keep_nothing_back) &&
        crosses(cap->value(), kept.value(), grows.value())) {
        if (!hit(LimitKind::queue_lending, cap->value(), kept.value(), gpus)) return false;
    }
    if (queue.jobs_maximum && job.pods == 0) {
        const std::int64_t most =
            *queue.jobs_maximum + (planted(PlantedBug::one_job_too_many) ? 1 : 0);
        if (crosses(most, jobs_held, 1) && !hit(LimitKind::queue_jobs, most, jobs_held, 1)) {
            return false;
        }
    }
    if (queue.gpus_per_job_maximum && !planted(PlantedBug::skip_gpus_per_job)) {
        const std::int64_t most = queue.gpus_per_job_maximum->value();
        if (crosses(most, job.gpus.value(), gpus) &&
            !hit(LimitKind::queue_gpus_per_job, most, job.gpus.value(), gpus)) {
            return false;
        }
    }
    return true;
}

// More of it would be what the pool's reserve is for: the first rank that waits, or one more beside
// so many pods. Those of an earlier run may hold still while its first ranks wait anew.
inline bool would_grow(const ClusterState& state, const JobRow& job, std::int64_t pods_held) {
    if (!job.record) return false;
    std::optional<std::int32_t> first;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool waits =
            pod.standing == PodStanding::waiting || pod.standing == PodStanding::claimed;
        if (waits) first = std::min(first.value_or(pod.facts.rank), pod.facts.rank);
    }
    const auto next = static_cast<std::int32_t>(std::min<std::int64_t>(pods_held, INT32_MAX));
    return grows_with_demand(job.record->spec, first.value_or(next));
}

// What is left to work that does not grow with demand.
template <typename Visit>
bool visit_reserve(const ClusterState& state, const JobRow& job, std::int64_t pods_held,
                   const Load& ask, const Relief* relief, Visit& visit) {
    const PoolRow& pool = state.pool(job.pool);
    const GpuMilli reserve = pool.reserve();
    if (reserve == GpuMilli{} || would_grow(state, job, pods_held) ||
        planted(PlantedBug::ignore_the_reserve)) {
        return true;
    }
    GpuMilli held = pool.held - pool.held_by_growing;
    if (relief) held -= relief->of_the_rest(job.pool);
    const GpuMilli most = pool.offered.gpus - reserve;
    return !crosses(most.value(), held.value(), ask.gpus.value()) ||
           visit(LimitHit{LimitKind::pool_reserve, QueueId::none(), most.value(), held.value(),
                          ask.gpus.value()});
}

// False when the visitor had enough.
template <typename Visit>
bool visit_chain(const ClusterState& state, const JobRow& job, const Load& ask,
                 const Relief* relief, Visit& visit) {
    const Relief::OfJob gone = relief ? relief->of_job(state, job) : Relief::OfJob{};
    const Relief::OfJob held{state.is_being_moved(job) ? 0 : job.pods_held - gone.pods,
                             job.gpus_held - gone.gpus};
    GpuMilli grows = ask.gpus;
    const bool has_budgets = !state.budgets().queues().empty();
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        const QueueRow& queue = state.queue(id);
        GpuMilli kept = queue.kept();
        if (relief) kept = relief->kept(state, id, job.queue, GpuMilli{});
        grows = relief ? relief->kept(state, id, job.queue, ask.gpus) - kept
                       : queue.kept_with(grows) - kept;
        const bool is_above = id != job.queue;
        if (is_above && planted(PlantedBug::skip_a_level)) continue;
        if (!visit_queue(queue, id, held, ask, kept, grows, relief, visit)) return false;
        if (!has_budgets) continue;
        const GpuTime relieved = relief ? relief->of_budget(id) : GpuTime{};
        if (!visit_budget(state.budgets().of(id), job, ask.gpus, state.now(), relieved,
                          LimitHit{LimitKind::queue_budget, id}, visit)) {
            return false;
        }
    }
    // What is only claimed is no rank yet to which more could be added.
    if (!visit_reserve(state, job, job.pods_held - gone.pods, ask, relief, visit)) return false;
    const PoolRow& pool = state.pool(job.pool);
    GpuMilli kept = pool.kept;
    GpuMilli all_held = pool.held;
    if (relief) {
        kept = grows = GpuMilli{};
        for (const QueueId root : pool.roots) {
            const GpuMilli without = relief->kept(state, root, job.queue, GpuMilli{});
            kept += without;
            all_held -= relief->of_queue(root).gpus;
            grows += relief->kept(state, root, job.queue, ask.gpus) - without;
        }
    }
    // Without GPUs there is nothing to keep back: the missing nodes are what a job waits for.
    const bool something_is_kept_back =
        (kept > all_held || Relief::claims_are_kept(state, pool, relief)) &&
        pool.offered.gpus > GpuMilli{0};
    if (!something_is_kept_back || planted(PlantedBug::keep_nothing_back) ||
        !crosses(pool.offered.gpus.value(), kept.value(), grows.value())) {
        return true;
    }
    return visit(LimitHit{LimitKind::pool_lending, QueueId::none(), pool.offered.gpus.value(),
                          kept.value(), ask.gpus.value()});
}

// What the queue and those below it would still keep back of the model, were `more` of it held in
// `leaf`; beside claims: had they nothing that is only claimed.
enum class Counted : std::uint8_t { all, beside_claims };
inline GpuMilli kept_back(const ClusterState& state, QueueId id, std::string_view model,
                          QueueId leaf, GpuMilli more, const Relief* relief,
                          Counted counted = Counted::all) {
    const QueueRow& queue = state.queue(id);
    GpuMilli kept;
    for (const QueueId child : queue.children) {
        kept += kept_back(state, child, model, leaf, more, relief, counted);
    }
    for (const ModelHolding& of : queue.models) {
        if (of.keeps == GpuMilli{} || !same_gpu_model(of.limit.model, model)) continue;
        GpuMilli held = of.held - (relief ? relief->of_model(id, model) : GpuMilli{});
        if (counted == Counted::beside_claims) {
            held -= of.claimed - (relief ? relief->claimed_of_model(id, model) : GpuMilli{});
        }
        for (QueueId up = leaf; up.exists(); up = state.queue(up).parent) {
            if (up == id) held += more;
        }
        kept = std::max(kept, of.keeps - held);
    }
    return kept;
}

inline GpuMilli kept_back(const ClusterState& state, PoolId pool, std::string_view model,
                          QueueId leaf, GpuMilli more, const Relief* relief,
                          Counted counted = Counted::all) {
    GpuMilli kept;
    for (const QueueId root : state.pool(pool).roots) {
        kept += kept_back(state, root, model, leaf, more, relief, counted);
    }
    return kept;
}

// A claim may still come to nothing, and then what was lent in its stead would be held by others.
inline bool is_kept_beside_claims(const ClusterState& state, PoolId pool, const ModelRoom& room,
                                  const Relief* relief) {
    if (state.claims().empty()) return false;
    return kept_back(state, pool, room.model, QueueId::none(), GpuMilli{}, relief,
                     Counted::beside_claims) > GpuMilli{};
}

inline bool keeps_back(const ClusterState& state, PoolId pool, const ModelRoom& room) {
    return kept_back(state, pool, room.model, QueueId::none(), GpuMilli{}, nullptr) > GpuMilli{} ||
           is_kept_beside_claims(state, pool, room, nullptr);
}

// Were so much more of the model held by the job's queue.
inline LimitHit model_lending(const ClusterState& state, const JobRow& job, const ModelRoom& room,
                              GpuMilli ask, const Relief* relief) {
    const GpuMilli kept = kept_back(state, job.pool, room.model, job.queue, GpuMilli{}, relief);
    const GpuMilli then = kept_back(state, job.pool, room.model, job.queue, ask, relief);
    const GpuMilli held =
        room.held - (relief ? relief->of_model(job.pool, room.model) : GpuMilli{});
    const bool is_any = room.offered > GpuMilli{} &&
                        (kept > GpuMilli{} || is_kept_beside_claims(state, job.pool, room, relief));
    return {is_any ? LimitKind::pool_model_lending : LimitKind::none,
            QueueId::none(),
            room.offered.value(),
            (held + kept).value(),
            (ask + then - kept).value(),
            room.model};
}

inline bool is_hit(const LimitHit& hit) {
    return hit.kind != LimitKind::none && crosses(hit.limit, hit.held, hit.needed);
}

template <typename Visit>
void visit_model_maxima(const ClusterState& state, const JobRow& job, const Load& ask, Visit visit,
                        const Relief* relief) {
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        for (const ModelHolding& model : state.queue(id).models) {
            if (!model.limit.maximum) continue;
            const GpuMilli gone = relief ? relief->of_model(id, model.limit.model) : GpuMilli{};
            const LimitHit hit{LimitKind::queue_model_maximum,
                               id,
                               model.limit.maximum->value(),
                               (model.held - gone).value(),
                               ask.gpus.value(),
                               model.limit.model};
            if (crosses(hit.limit, hit.held, hit.needed)) visit(hit);
        }
    }
}

inline const PlacementRules& rules_of(const ClusterState& state, const JobRow& job) {
    const Shape& shape = state.shapes().at(state.pod(job.pods.front()).shape);
    return state.shapes().constraint(shape.constraint).rules;
}

// Nodes of its pool that the job takes, with GPUs of other models than these.
inline bool leaves_other_models(const ClusterState& state, const JobRow& job,
                                const std::vector<std::string_view>& barred) {
    const PlacementRules& rules = rules_of(state, job);
    const auto& nodes = state.nodes_by_name();
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
        const NodeRow& node = state.node(entry.second);
        const std::string& model = node.facts.gpu_model;
        return node.known && node.pool == job.pool && takes_gpu_model(rules, model) &&
               gpus_total(node.facts.allocatable) > GpuMilli{} && !is_model_among(barred, model);
    });
}

// Of the models that the job takes.
template <typename Visit>
void visit_models_kept(const ClusterState& state, const JobRow& job, const Load& ask, Visit& visit,
                       const Relief* relief) {
    const PoolRow& pool = state.pool(job.pool);
    if (pool.models_kept.empty() || job.pods.empty()) return;
    const PlacementRules& rules = rules_of(state, job);
    std::vector<LimitHit> hits;
    for (const ModelRoom& room : pool.models_kept) {
        if (!takes_gpu_model(rules, room.model)) continue;
        const LimitHit hit = model_lending(state, job, room, ask.gpus, relief);
        if (is_hit(hit)) hits.push_back(hit);
    }
    if (hits.empty()) return;
    std::vector<std::string_view> barred;
    const auto bar = [&barred](const LimitHit& hit) { barred.push_back(hit.model); };
    visit_model_maxima(state, job, ask, bar, relief);
    std::for_each(hits.begin(), hits.end(), bar);
    const bool leaves_others = leaves_other_models(state, job, barred);
    for (LimitHit& hit : hits) {
        hit.leaves_others = leaves_others;
        visit(hit);
    }
}

template <typename Visit>
void visit_tenant(const ClusterState& state, const JobRow& job, const Load& ask,
                  const Relief* relief, Visit& visit) {
    if (planted(PlantedBug::skip_tenant_quota)) return;
    const TenantRow& tenant = state.tenant(job.tenant);
    const Load gone = relief ? relief->of_tenant(job.tenant) : Load{};
    const auto check = [&](LimitKind kind, const auto& limit, auto held, auto needed) {
        return !limit || !crosses(limit->value(), held.value(), needed.value()) ||
               visit(LimitHit{kind, QueueId::none(), limit->value(), held.value(), needed.value()});
    };
    if (!check(LimitKind::tenant_gpus, tenant.gpu_maximum, tenant.gpus_held - gone.gpus,
               ask.gpus)) {
        return;
    }
    if (!check(LimitKind::tenant_cpu, tenant.cpu_maximum, tenant.cpu_held - gone.cpu, ask.cpu)) {
        return;
    }
    if (!check(LimitKind::tenant_memory, tenant.memory_maximum, tenant.memory_held - gone.memory,
               ask.memory)) {
        return;
    }
    if (planted(PlantedBug::skip_pool_quota)) return;
    const std::optional<GpuMilli> quota = state.pool_quota(job.tenant, job.pool);
    const GpuMilli gone_here = relief ? relief->of_tenant(job.tenant, job.pool) : GpuMilli{};
    if (!check(LimitKind::tenant_pool_gpus, quota,
               state.held_in_pool(job.tenant, job.pool) - gone_here, ask.gpus)) {
        return;
    }
    if (state.budgets().tenants().empty()) return;
    const GpuTime relieved = relief ? relief->of_budget(job.tenant, job.pool) : GpuTime{};
    visit_budget(state.budgets().of(job.tenant, job.pool), job, ask.gpus, state.now(), relieved,
                 LimitHit{LimitKind::tenant_budget, QueueId::none()}, visit);
}

}  // namespace limits

template <typename Visit>
void visit_limits(const ClusterState& state, const JobRow& job, const Load& ask, Visit visit,
                  const Relief* relief) {
    if (job.priority >= kSystemPriority) return;
    if (!limits::visit_chain(state, job, ask, relief, visit)) return;
    limits::visit_tenant(state, job, ask, relief, visit);
}

template <typename Visit>
void visit_model_limits(const ClusterState& state, const JobRow& job, const Load& ask, Visit visit,
                        const Relief* relief) {
    if (job.priority >= kSystemPriority || planted(PlantedBug::skip_model_limits)) return;
    limits::visit_model_maxima(state, job, ask, visit, relief);
    if (planted(PlantedBug::keep_no_model_back)) return;
    limits::visit_models_kept(state, job, ask, visit, relief);
}

// Where the round goes is known by now, so each model is asked for what it would have to give.
inline bool crosses_model_limit(const ClusterState& state, const JobRow& job,
                                const std::vector<Placement>& round) {
    if (job.priority >= kSystemPriority || planted(PlantedBug::skip_model_limits)) return false;
    const auto asked_of = [&](std::string_view model) {
        GpuMilli more;
        for (const Placement& placement : round) {
            const NodeRow& node = state.node(placement.node);
            if (!same_gpu_model(node.facts.gpu_model, model)) continue;
            more += state.shapes().at(state.pod(placement.pod).shape).gpus;
        }
        return more;
    };
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        for (const ModelHolding& model : state.queue(id).models) {
            if (!model.limit.maximum) continue;
            const GpuMilli more = asked_of(model.limit.model);
            if (limits::crosses(model.limit.maximum->value(), model.held.value(), more.value())) {
                return true;
            }
        }
    }
    if (planted(PlantedBug::keep_no_model_back)) return false;
    const std::vector<ModelRoom>& kept = state.pool(job.pool).models_kept;
    return std::any_of(kept.begin(), kept.end(), [&](const ModelRoom& room) {
        return limits::is_hit(
            limits::model_lending(state, job, room, asked_of(room.model), nullptr));
    });
}

}  // namespace gpuctl
