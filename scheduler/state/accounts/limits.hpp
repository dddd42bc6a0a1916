#pragma once
// The limits that apply to a job: of its queue, of every queue above, of the pool, of its
// namespace. They are one table (limits/limit_table.hpp) with one walker. The planner stops at the
// first hit, explanations read all hits, and preflight reads which limits could never be met: so
// they cannot disagree (docs/adr/0040-one-table-of-limits.md).

#include <vector>

#include "scheduler/base/function_ref.hpp"
#include "scheduler/state/accounts/limits/limit_figures.hpp"
#include "scheduler/state/accounts/limits/limit_row.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Returns false to stop the walk.
using LimitVisitor = FunctionRef<bool(const LimitHit&)>;
using ModelLimitVisitor = FunctionRef<void(const LimitHit&)>;

// The sum of what these pods request.
Load load_of(const ClusterState& state, const std::vector<PodId>& pods);

// Visits every limit that the job would cross with `ask` more: first of its own queue, then of the
// queues above, of the pool and of the namespace. `released`: as if these pods were gone.
void visit_limits(const ClusterState& state, const JobRow& job, const Load& ask, LimitVisitor visit,
                  const ReleasedUsage* released = nullptr);

// Visits every GPU model that the job may not use: a queue of its chain may not hold `ask` more of
// it, or its remaining GPUs are reserved for other queues. No pod of the job is placed on nodes
// with such a model; the job waits unless the pool has other models (LimitHit::leaves_others). For
// a job that could be split over models this is stricter than the limit, and never laxer.
void visit_model_limits(const ClusterState& state, const JobRow& job, const Load& ask,
                        ModelLimitVisitor visit, const ReleasedUsage* released = nullptr);

// True if the round crosses a limit of a GPU model. The nodes are known, so each model is charged
// only with what would be placed on it.
bool crosses_model_limit(const ClusterState& state, const JobRow& job,
                         const std::vector<Placement>& round);

// Visits the limits that a job of `spec` could not meet even if no other job ran: `visit(row, at,
// ever)`.
struct LimitEverAt;
struct LimitEver;
using EverVisitor =
    FunctionRef<bool(const LimitRow& row, const LimitEverAt& at, const LimitEver& ever)>;
void visit_limits_ever(const LimitEverAt& job, EverVisitor visit);

// The row of the table; `kind` is not none.
const LimitRow& limit_row(LimitKind kind);

namespace limits {

// Only the maxima of queues, without what is reserved for other queues.
void visit_model_maxima(const ClusterState& state, const JobRow& job, const Load& ask,
                        ModelLimitVisitor visit, const ReleasedUsage* released);

}  // namespace limits
}  // namespace gpuctl
