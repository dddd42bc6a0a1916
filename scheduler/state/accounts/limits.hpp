#pragma once
// The limits between a job and what it asks for: of its queue, of every queue above, of the pool,
// of its namespace. One table (limits/limit_table.hpp), visited by one walker: the planner stops at
// the first hit, explanations read all hits, preflight reads what can never be held, so they cannot
// disagree (docs/adr/0040-one-table-of-limits.md).

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

// What these pods ask for together.
Load load_of(const ClusterState& state, const std::vector<PodId>& pods);

// Visits every limit that `ask` more would cross: the queue's own first, then upwards, then the
// pool's, then the namespace's. With released usage: as if
// the pods that release it were gone.
void visit_limits(const ClusterState& state, const JobRow& job, const Load& ask, LimitVisitor visit,
                  const ReleasedUsage* released = nullptr);

// Visits every GPU model of which a queue of the chain may not hold `ask` more, or whose remaining
// GPUs are reserved for other queues: no pod of the job is placed on its nodes then (the job waits
// unless the pool has other models: LimitHit::leaves_others). Stricter than the limit for a job
// that could be split over models, and never laxer.
void visit_model_limits(const ClusterState& state, const JobRow& job, const Load& ask,
                        ModelLimitVisitor visit, const ReleasedUsage* released = nullptr);

// The nodes of the round are known, so each model is charged only what would be placed on it.
bool crosses_model_limit(const ClusterState& state, const JobRow& job,
                         const std::vector<Placement>& round);

// Visits the limits that `spec` could not be within even if it were alone, `visit(row, at, ever)`.
struct LimitEverAt;
struct LimitEver;
using EverVisitor =
    FunctionRef<bool(const LimitRow& row, const LimitEverAt& at, const LimitEver& ever)>;
void visit_limits_ever(const LimitEverAt& job, EverVisitor visit);

// The row of the table; the hit must exist.
const LimitRow& limit_row(LimitKind kind);

namespace limits {

// Only the maxima of queues, without what is reserved for other queues.
void visit_model_maxima(const ClusterState& state, const JobRow& job, const Load& ask,
                        ModelLimitVisitor visit, const ReleasedUsage* released);

}  // namespace limits
}  // namespace gpuctl
