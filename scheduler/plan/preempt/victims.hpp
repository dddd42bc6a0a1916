#pragma once
// The pods that could be evicted for another job, and their price.

#include <boost/container/small_vector.hpp>
#include <functional>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Pods that are evicted together: a whole gang, one pod of a service, a lone pod.
struct EvictionUnit {
    JobId job;
    boost::container::small_vector<PodId, 4> pods;
    std::int64_t cost_gpu_ms = 0;
    GpuMilli gpus;
    Instant placed_at;  // start of the pod that was placed last
    std::int64_t weight =
        0;  // quantity to minimise over all evicted units; the price unless it is set otherwise
    // Earlier units of the same job must be evicted first: ranks of an elastic job.
    bool in_order = false;
    // The unit has no GPUs and blocks idle GPUs that the job needs (in_the_way.hpp).
    bool is_in_the_way = false;

    void add(const ClusterState& state, PodId pod);
};

struct Candidates {
    std::vector<EvictionUnit> units;  // cheapest first; then fewer GPUs, then younger, then by name
    std::vector<PodId> terminating_pods;  // terminating pods: they make room without cost
    Instant look_again_at;                // when the first protection ends; or never

    void clear() {
        units.clear();
        terminating_pods.clear();
        look_again_at = Instant{};
    }
    void note_look_again(Instant at) {
        if (!look_again_at.happened() || at < look_again_at) look_again_at = at;
    }
};

// Why a running pod may not be evicted for another job.
enum class StopBar : std::uint8_t {
    none,
    unwilling,      // its user has excluded it
    unsaid,         // its user has not allowed it
    bare,           // it has no controller that would create it again
    not_now,        // its node does not answer, or it is being bound or terminating
    protected_yet,  // it started recently (policy.runTimeProtected)
    spared          // its last eviction failed
};
struct StopCheck {
    StopBar bar = StopBar::none;
    // end of the bar for protected_yet and spared, not in the past; otherwise unknown
    Instant until;
};

// Whether the pod's user must have stated that it is preemptible.
enum class Consent : std::uint8_t {
    needed,
    // needed, except for higher priority if the pool asks for no consent (PreemptionVictims)
    by_priority,
    not_needed
};

// Adds the pods on answering nodes of the pool that may be evicted and whose jobs `may_stop`
// accepts: they are preemptible, have a controller and are not protected.
void find_candidates(const ClusterState& state, PoolId pool,
                     const std::function<bool(const JobRow&)>& may_stop, Candidates& out,
                     Consent consent = Consent::needed);

// The longest time that a job may wait for terminating pods. It counts pods of its pool that may be
// evicted or are terminating, and likewise pods in other pools that use a quota of its namespace.
// It visits all these pods.
[[nodiscard]] Duration longest_nomination(const ClusterState& state, const JobRow& by);

[[nodiscard]] StopCheck may_be_evicted(const ClusterState& state, const PodRow& pod,
                                       Consent consent = Consent::needed);

void sort_by_cost(const ClusterState& state, std::vector<EvictionUnit>& units);

// Adds the units with a pod on this node; `terminating_pods` is not changed.
void find_candidates_on(const ClusterState& state, NodeId node,
                        const std::function<bool(const JobRow&)>& may_stop, Candidates& out,
                        Consent consent);

// True if the job was just asked to give up a pod while other pods of it wait. It has left the
// line, and until the next Plan has returned it to the line no job behind it may be served.
bool loses_its_turn(const ClusterState& state, JobId job);

// A cheap check before any search: would there be enough GPUs for these pods if all candidates were
// gone and nothing else blocked the job?
class RoomOnceGone {
public:
    RoomOnceGone(const ClusterState& state, PoolId pool, const Candidates& candidates,
                 const std::vector<PodId>& pods);
    [[nodiscard]] bool may_suffice() const;                // in the pool, for all pods
    [[nodiscard]] bool may_suffice_on(NodeId node) const;  // on this node, for one pod

private:
    [[nodiscard]] std::int64_t ranks_on(std::uint32_t slot) const;

    const Capacity& capacity_;
    const NodeSet& nodes_;
    const Shape& shape_;
    std::int64_t ranks_;
    bool is_hopeless_;  // there are no candidates
    // GPUs that candidates hold, by slot; empty: other resources matter, too
    std::vector<std::int64_t> gone_;
};

}  // namespace gpuctl
