#pragma once
// After a restart the replayed state knows objects that were deleted meanwhile, and an adapter that
// lists the cluster anew says only what exists. Between start and CacheSynced this notes what was
// told; then everything of the state that was not is gone, and said so by ordinary events, which
// are journaled like the rest.

#include <set>
#include <string>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::core {

class Reconciler {
public:
    void note(const Event& event);
    // What `state` holds and nobody told us of; in the order of names.
    [[nodiscard]] std::vector<Event> vanished(const ClusterState& state) const;

private:
    void add_vanished_ends(const ClusterState& state, std::vector<Event>& events) const;

    std::set<std::string> pod_uids_;
    std::set<std::string> node_names_;
    std::set<ObjectKey> gangs_;
    std::set<std::string> workload_job_uids_;
};

}  // namespace gpuctl::core
