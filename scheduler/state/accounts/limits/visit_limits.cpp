// The walker over the table of limits.

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/accounts/limits/limit_table.hpp"

namespace gpuctl {
namespace {

constexpr bool rows_are_in_order_of_kinds() {
    for (std::size_t i = 0; i < std::size(kLimits); ++i) {
        if (kLimits[i].kind != static_cast<LimitKind>(i + 1)) return false;
    }
    return true;
}
static_assert(rows_are_in_order_of_kinds());

// True: a seeded fault (docs/adr/0010-simulation.md) skips the limit.
bool is_skipped_by_fault(const LimitRow& row, const LimitAt& at) {
    switch (row.scope) {
        case LimitScope::queue:
            if (at.queue != at.job.queue && has_fault(SeededFault::skip_a_level)) return true;
            break;
        case LimitScope::tenant:
            if (has_fault(SeededFault::skip_tenant_quota)) return true;
            if (row.is_of_one_pool && has_fault(SeededFault::skip_pool_quota)) return true;
            break;
        case LimitScope::pool_model:
            if (has_fault(SeededFault::lend_whole_model_guarantees)) return true;
            [[fallthrough]];
        case LimitScope::queue_model:
            if (has_fault(SeededFault::skip_model_limits)) return true;
            break;
        case LimitScope::pool:
            break;
    }
    const bool is_queue_or_pool = row.scope == LimitScope::queue || row.scope == LimitScope::pool;
    if (is_queue_or_pool && row.is_lending) return has_fault(SeededFault::lend_whole_guarantees);
    if (row.kind == LimitKind::queue_maximum) return has_fault(SeededFault::skip_queue_maximum);
    if (row.kind == LimitKind::queue_gpus_per_job) return has_fault(SeededFault::skip_gpus_per_job);
    if (row.kind == LimitKind::pool_reserve) return has_fault(SeededFault::ignore_the_reserve);
    return false;
}

void shift_by_fault(LimitKind kind, LimitFigures& figures) {
    if (kind == LimitKind::queue_maximum && has_fault(SeededFault::queue_maximum_off_by_one)) {
        figures.limit += kGpuMilliPerGpu;
    }
    if (kind == LimitKind::queue_borrowing && has_fault(SeededFault::borrow_one_too_many)) {
        figures.limit += kGpuMilliPerGpu;
    }
    if (kind == LimitKind::queue_jobs && has_fault(SeededFault::one_job_too_many)) ++figures.limit;
}

// False: the visitor stopped the walk.
template <std::size_t row, typename Visit>
bool visit_row(const LimitAt& at, std::string_view model, Visit& visit) {
    if (is_skipped_by_fault(kLimits[row], at)) return true;
    std::optional<LimitFigures> figures = kLimits[row].read(at);
    if (!figures) return true;
    shift_by_fault(kLimits[row].kind, *figures);
    if (!figures->are_crossed()) return true;
    return visit(LimitHit{kLimits[row].kind, at.queue, figures->limit, figures->held,
                          figures->needed, model});
}

// The rows of a scope, unrolled: a limit that is not set costs one comparison.
template <LimitScope scope, typename Visit>
bool visit_scope(const LimitAt& at, std::string_view model, Visit& visit) {
    const auto visit_one = [&]<std::size_t row>() {
        if constexpr (kLimits[row].scope == scope) return visit_row<row>(at, model, visit);
        return true;
    };
    return [&]<std::size_t... row>(std::index_sequence<row...>) {
        return (visit_one.template operator()<row>() && ...);
    }(std::make_index_sequence<std::size(kLimits)>{});
}

LimitAt begin_walk(const ClusterState& state, const JobRow& job, const Load& ask,
                   const ReleasedUsage* released) {
    LimitAt at{.state = state, .job = job, .ask = ask, .released = released};
    const ReleasedUsage::OfJob gone =
        released ? released->of_job(state, job) : ReleasedUsage::OfJob{};
    at.pods_held = job.holding.pods - gone.pods;
    at.pods_charged = state.nominations.is_being_moved(job) ? 0 : at.pods_held;
    at.gpus_held = job.holding.gpus - gone.gpus;
    at.grows = ask.gpus;
    return at;
}

void step_to(LimitAt& at, QueueId id) {
    at.queue = id;
    at.row = &at.state.queue(id);
    at.held = at.row->account.held.gpus;
    at.held_or_reserved = at.row->held_or_reserved();
    if (at.released == nullptr) {
        at.grows = at.row->held_or_reserved_with(at.grows) - at.held_or_reserved;
        return;
    }
    at.held -= at.released->of_queue(id).gpus;
    at.held_or_reserved = at.released->held_or_reserved(at.state, id, at.job.queue, GpuMilli{});
    at.grows = at.released->held_or_reserved(at.state, id, at.job.queue, at.ask.gpus) -
               at.held_or_reserved;
}

// Usually false: then the walks over GPU models are skipped.
bool is_any_model_limited(const ClusterState& state, const JobRow& job) {
    if (!state.pool(job.pool).reserved_models.empty()) return true;
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        if (!state.queue(id).models.empty()) return true;
    }
    return false;
}

void visit_reserved_models(LimitAt& at, ModelLimitVisitor visit) {
    const PoolRow& pool = at.state.pool(at.job.pool);
    if (pool.reserved_models.empty() || at.job.pods.empty()) return;
    const PlacementRules& rules = limits::rules_of(at.state, at.job);
    std::vector<LimitHit> hits;
    const auto add_hit = [&hits](const LimitHit& hit) {
        hits.push_back(hit);
        return true;
    };
    for (const ModelRoom& room : pool.reserved_models) {
        if (!takes_gpu_model(rules, room.model)) continue;
        at.room = &room;
        visit_scope<LimitScope::pool_model>(at, room.model, add_hit);
    }
    if (hits.empty()) return;
    std::vector<std::string_view> barred;
    const auto bar = [&barred](const LimitHit& hit) { barred.push_back(hit.model); };
    limits::visit_model_maxima(at.state, at.job, at.ask, bar, at.released);
    std::for_each(hits.begin(), hits.end(), bar);
    const bool leaves_others = limits::leaves_other_models(at.state, at.job, barred);
    for (LimitHit& hit : hits) {
        hit.leaves_others = leaves_others;
        visit(hit);
    }
}

}  // namespace

Load load_of(const ClusterState& state, const std::vector<PodId>& pods) {
    Load sum;
    for (const PodId pod : pods) sum.add(state.shape_of(pod).load());
    return sum;
}

const LimitRow& limit_row(LimitKind kind) { return kLimits[static_cast<std::size_t>(kind) - 1]; }

bool is_budget(LimitKind kind) {
    return kind != LimitKind::none && limit_row(kind).unit == LimitUnit::gpu_time;
}

bool is_of_pools(LimitKind kind) {
    if (kind == LimitKind::none) return false;
    const LimitScope scope = limit_row(kind).scope;
    return scope == LimitScope::pool || scope == LimitScope::pool_model;
}

bool is_of_all_pools(LimitKind kind) {
    return kind != LimitKind::none && limit_row(kind).scope == LimitScope::tenant &&
           !limit_row(kind).is_of_one_pool;
}

void visit_limits(const ClusterState& state, const JobRow& job, const Load& ask, LimitVisitor visit,
                  const ReleasedUsage* released) {
    if (job.priority >= kSystemPriority) return;
    LimitAt at = begin_walk(state, job, ask, released);
    for (QueueId id = job.queue; id.exists(); id = at.row->parent) {
        step_to(at, id);
        if (!visit_scope<LimitScope::queue>(at, {}, visit)) return;
    }
    at.queue = QueueId::none();
    if (!visit_scope<LimitScope::pool>(at, {}, visit)) return;
    if (released != nullptr) at.tenant_released = released->of_tenant(job.tenant);
    visit_scope<LimitScope::tenant>(at, {}, visit);
}

void limits::visit_model_maxima(const ClusterState& state, const JobRow& job, const Load& ask,
                                ModelLimitVisitor visit, const ReleasedUsage* released) {
    LimitAt at{.state = state, .job = job, .ask = ask, .released = released};
    const auto go_on = [&visit](const LimitHit& hit) {
        visit(hit);
        return true;
    };
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        at.queue = id;
        for (const ModelHolding& holding : state.queue(id).models) {
            at.holding = &holding;
            visit_scope<LimitScope::queue_model>(at, holding.limit.model, go_on);
        }
    }
}

void visit_model_limits(const ClusterState& state, const JobRow& job, const Load& ask,
                        ModelLimitVisitor visit, const ReleasedUsage* released) {
    if (job.priority >= kSystemPriority || !is_any_model_limited(state, job)) return;
    limits::visit_model_maxima(state, job, ask, visit, released);
    LimitAt at{.state = state, .job = job, .ask = ask, .released = released};
    visit_reserved_models(at, visit);
}

bool crosses_model_limit(const ClusterState& state, const JobRow& job,
                         const std::vector<Placement>& round) {
    if (job.priority >= kSystemPriority || !is_any_model_limited(state, job)) return false;
    Load asked;  // of the GPU model at this step
    const auto ask_of = [&](std::string_view model) {
        asked = Load{};
        for (const Placement& placement : round) {
            const NodeRow& node = state.node(placement.node);
            if (!same_gpu_model(node.facts.gpu_model, model)) continue;
            asked.gpus += state.pods.shapes().at(state.pod(placement.pod).shape).gpus;
        }
    };
    const auto stop = [](const LimitHit&) { return false; };
    LimitAt at{.state = state, .job = job, .ask = asked, .released = nullptr};
    for (at.queue = job.queue; at.queue.exists(); at.queue = state.queue(at.queue).parent) {
        for (const ModelHolding& holding : state.queue(at.queue).models) {
            at.holding = &holding;
            ask_of(holding.limit.model);
            if (!visit_scope<LimitScope::queue_model>(at, {}, stop)) return true;
        }
    }
    for (const ModelRoom& room : state.pool(job.pool).reserved_models) {
        at.room = &room;
        ask_of(room.model);
        if (!visit_scope<LimitScope::pool_model>(at, {}, stop)) return true;
    }
    return false;
}

// --- could the job ever be within its limits? ---

namespace {

bool visit_ever(LimitScope scope, bool is_lending, const LimitEverAt& at, EverVisitor visit) {
    for (const LimitRow& row : kLimits) {
        if (row.scope != scope || row.is_lending != is_lending || row.ever == nullptr) continue;
        const std::optional<LimitEver> ever = row.ever(at);
        if (ever && !visit(row, at, *ever)) return false;
    }
    return true;
}

}  // namespace

// First the maxima of the queues, then what other queues do not lend, then the limits of the pool
// and of the namespace.
void visit_limits_ever(const LimitEverAt& job, EverVisitor visit) {
    LimitEverAt at = job;
    for (at.queue = at.leaf; at.queue.exists(); at.queue = at.state.queue(at.queue).parent) {
        if (!visit_ever(LimitScope::queue, false, at, visit)) return;
        if (at.model.empty()) continue;
        for (const ModelHolding& holding : at.state.queue(at.queue).models) {
            at.holding = &holding;
            if (!visit_ever(LimitScope::queue_model, false, at, visit)) return;
        }
    }
    for (at.queue = at.leaf; at.queue.exists(); at.queue = at.state.queue(at.queue).parent) {
        if (!visit_ever(LimitScope::queue, true, at, visit)) return;
    }
    if (!visit_ever(LimitScope::pool, true, at, visit)) return;
    if (!visit_ever(LimitScope::pool, false, at, visit)) return;
    visit_ever(LimitScope::tenant, false, at, visit);
}

}  // namespace gpuctl
