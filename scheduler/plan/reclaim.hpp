#pragma once
// Reclaim between queues: what was lent of a guarantee comes back to the queue that it was promised
// to, before anybody of its own is stopped. A queue below its guarantee, with the job in it and
// with what is kept back below it, takes from those beside it that hold more than theirs, and
// leaves each of them what it is guaranteed, at every level of the tree and of every GPU model. So
// what queues take of their guarantees only ever grows by it, and there can be no circle of jobs
// that stop each other.
//
// Priorities have no say: a guarantee is the queue's, whoever works in it. Where guarantees are for
// those only who want no more (PreemptionPolicy::guarantees), one that wants more has none: the
// circle is then bounded by the budget of evictions, as wants change only from Plan to Plan.

#include "scheduler/plan/victims.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl::reclaim {

// Where two queues of one pool meet: the queues directly below that, one above (or equal to) each.
struct Sides {
    QueueId own;
    QueueId other;  // none: they are the same, or one lies above the other
};
Sides sides(const ClusterState& state, QueueId own, QueueId other);

// Whether a queue and those above it, up to `last`, have what they are guaranteed without those
// that are gone.
bool chain_keeps_guarantees(const ClusterState& state, QueueId leaf, QueueId last,
                            const Relief& gone);

// Is some queue of the job's chain guaranteed anything, and is there one that could hold `ask` more
// and be within its guarantee still?
struct Standing {
    bool has_guarantee = false;
    bool is_owed = false;
};
Standing standing(const ClusterState& state, const JobRow& job, GpuMilli ask);

// Cheap, and asked whenever a job finds no room: is anybody beside a queue that is owed something
// over its guarantee?
bool may_try(const ClusterState& state, const JobRow& job, GpuMilli ask);
// May pods of `other` be stopped for it at all?
bool may_stop(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other);

// Work without GPUs holds no part of a guarantee, and stops none for one: no circle. Where it keeps
// GPUs from a job whose queue is owed them it goes, whatever its own queue is guaranteed.
// Cheap: could there be any?
bool may_try_to_clear(const ClusterState& state, const JobRow& job, GpuMilli ask);
// May pods without GPUs of `other` be stopped for it?
bool may_clear(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other);

// Keeps those of the units, in their order, that may all be stopped together beside those who leave
// anyway. Any fewer of them may be, too.
void leave_guarantees(const ClusterState& state, const JobRow& job,
                      const std::vector<PodId>& leaving, std::vector<const EvictionUnit*>& units);

}  // namespace gpuctl::reclaim
