#pragma once
// Detects objects that were deleted while gpuctld was down: the replayed state still has them, and
// an adapter that lists the cluster reports only existing objects. Records the reported objects
// between start and CacheSynced; then every other object of the state is gone, and is removed by
// ordinary events, which are journaled like all others.

#include <set>
#include <string>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::core {

class Reconciler {
public:
    void record(const Event& event);
    // Objects of `state` that were not reported; in the order of names.
    [[nodiscard]] std::vector<Event> vanished(const ClusterState& state) const;

private:
    void add_vanished_ends(const ClusterState& state, std::vector<Event>& events) const;

    std::set<std::string> pod_uids_;
    std::set<std::string> node_names_;
    std::set<ObjectKey> gangs_;
    std::set<std::string> workload_job_uids_;
};

}  // namespace gpuctl::core
