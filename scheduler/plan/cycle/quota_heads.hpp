#pragma once
// Finds the heads of the line under limits, for which the rest of those limits is reserved
// (docs/adr/0028). It runs while the jobs of a pool are tried in order, and again before elastic
// jobs grow. A head is added to the line and the quota reservations of a PoolTurn, or it is skipped
// if nothing can be reserved for it.

#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/overlay.hpp"
#include "scheduler/plan/pool_turn.hpp"

namespace gpuctl {

class QuotaHeads {
public:
    explicit QuotaHeads(Placer& placer) : placer_(placer) {}

    // Called when a pool's turn begins. Adds heads of other pools that jobs of this pool waited
    // behind in the last cycle, because they wait for the quota of a namespace, which spans pools.
    void add_reported_of_other_pools(const Overlay& overlay, PoolTurn& turn);
    // Adds the class if a limit blocks it and its first job is a head now. False: its first job is
    // no head.
    bool add_if_head(const Overlay& overlay, PoolTurn& turn, ClassId chosen);
    // Adds the heads that bar GPU models for the class, in their order. Without them other nodes
    // would be reserved.
    void add_in_front_of(const Overlay& overlay, PoolTurn& turn, const JobClass& waiting);
    // True if it had to look for heads of other pools in front of the class now: the order may
    // differ.
    bool look_in_front_of(const Overlay& overlay, PoolTurn& turn, ClassId chosen);

    // Called when all jobs of a pool were tried. Starts the turn again with the heads that were
    // reported for the pool.
    void open_with_reported(const Overlay& overlay, PoolTurn& turn);
    // Starts the turn again with all heads, because growth waits for all of them.
    void open_with_all(const Overlay& overlay, PoolTurn& turn);

private:
    // True if quota is reserved for the job in `turn`. The turn may serve another pool than the
    // job's.
    bool reserve(const Overlay& overlay, PoolTurn& turn, PoolId pool, JobId head);
    void add_or_pass(const Overlay& overlay, PoolTurn& turn, PoolId pool, ClassId head);
    // Adds the first heads of other pools under the quota of the namespace, up to the first one
    // that quota is reserved for.
    void add_of_other_pools(const Overlay& overlay, PoolTurn& turn, TenantId tenant,
                            ClassId before);
    // Adds jobs of other pools that have a reservation of nodes in their pool.
    static void add_reserved_of_other_pools(const ClusterState& state, PoolTurn& turn);

    Placer& placer_;
    std::vector<Reservation> probes_;  // by pool: would the head find room at all?
    Readiness ready_;                  // buffers
    std::vector<PodId> pods_;
    std::vector<Placement> round_;
};

}  // namespace gpuctl
