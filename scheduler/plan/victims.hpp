#pragma once
// Who could be stopped for another job, and at what price.

#include <boost/container/small_vector.hpp>
#include <functional>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What is stopped together: a gang whole, of a service one pod, a lone pod.
struct EvictionUnit {
    JobId job;
    boost::container::small_vector<PodId, 4> pods;
    std::int64_t price_gpu_ms = 0;
    GpuMilli gpus;
    Instant placed_at;  // of the pod placed last
    std::int64_t weight =
        0;  // what is to be least of all that go; the price where nobody says else
    // Those of the same job that stand before it go before it does: ranks of an elastic job.
    bool in_order = false;
    // Without GPUs, and it keeps GPUs from the job that are there (in_the_way.hpp).
    bool is_in_the_way = false;
};

struct Candidates {
    std::vector<EvictionUnit> units;  // cheapest first; then fewer GPUs, younger, by name
    std::vector<PodId> leaving;       // room to come that costs nothing
    Instant look_again_at;            // when the first that is protected now no longer is; or never

    void clear() {
        units.clear();
        leaving.clear();
        look_again_at = Instant{};
    }
    void note_look_again(Instant at) {
        if (!look_again_at.happened() || at < look_again_at) look_again_at = at;
    }
};

// What keeps a pod that holds something from being stopped for others.
enum class StopBar : std::uint8_t {
    none,
    unwilling,      // its user says that it may not
    unsaid,         // its user has not said that it may
    bare,           // no controller would make it again
    not_now,        // its node is silent, or it is on its way in or out
    protected_yet,  // it began lately (policy.runTimeProtected)
    spared          // it could not be evicted when it was asked last
};
struct StopCheck {
    StopBar bar = StopBar::none;
    Instant until;  // of the last two, and of none in the past; else nobody knows when it ends
};

// Must its user have said that a pod may be stopped for others?
enum class Consent : std::uint8_t {
    needed,
    by_priority,  // or it is for higher priority, and its pool asks no user (PreemptionVictims)
    not_needed
};

// Pods on the nodes of the pool that answer, of jobs that `may_stop` allows, as far as they may be
// stopped at all: willing, made again by a controller, not protected.
void find_candidates(const ClusterState& state, PoolId pool,
                     const std::function<bool(const JobRow&)>& may_stop, Candidates& out,
                     Consent consent = Consent::needed);

// How long at most a job may wait for others: those of its pool who may be stopped, those who leave
// anyway, and likewise what holds a quota of its namespace in other pools. Looks at all pods there.
[[nodiscard]] Duration longest_claim(const ClusterState& state, const JobRow& by);

[[nodiscard]] StopCheck may_be_stopped(const ClusterState& state, const PodRow& pod,
                                       Consent consent = Consent::needed);

void sort_by_price(const ClusterState& state, std::vector<EvictionUnit>& units);

// Those that have a pod on this node; `leaving` stays as it is.
void find_candidates_on(const ClusterState& state, NodeId node,
                        const std::function<bool(const JobRow&)>& may_stop, Candidates& out,
                        Consent consent);

// One that was just told to give a pod up while others of it wait: it left the line, and until the
// next Plan has put it back nobody behind it is to be served.
bool loses_its_turn(const ClusterState& state, JobId job);

// Cheap, before any search: were all candidates gone and nothing else in the way, would there be
// the GPUs for these pods?
class RoomOnceGone {
public:
    RoomOnceGone(const ClusterState& state, PoolId pool, const Candidates& candidates,
                 const std::vector<PodId>& pods);
    [[nodiscard]] bool may_suffice() const;                // in the pool, for all of them
    [[nodiscard]] bool may_suffice_on(NodeId node) const;  // for one of them

private:
    [[nodiscard]] std::int64_t ranks_on(std::uint32_t slot) const;

    const Capacity& capacity_;
    const NodeSet& nodes_;
    const Shape& shape_;
    std::int64_t ranks_;
    bool is_hopeless_;                // there is nobody
    std::vector<std::int64_t> gone_;  // GPUs, by slot; empty: it is not about GPUs alone
};

}  // namespace gpuctl
