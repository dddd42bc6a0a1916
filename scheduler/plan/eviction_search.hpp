#pragma once
// The cheapest few to stop so that a job starts: shown on the columns themselves, in a transaction
// that leaves no trace. A set that is found is minimal: without any one of it the job does not fit.

#include <vector>

#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/victims.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl {

struct EvictionPlan {
    std::vector<Placement> round;  // where the job goes once they are gone
    std::vector<Victim> victims;
};

class EvictionSearch {
public:
    explicit EvictionSearch(Placer& placer) : placer_(placer) {}

    // False when stopping nobody of them would help, or when what is leaving anyway is enough.
    bool find(ClusterState& state, JobId job, const std::vector<PodId>& pods,
              const Candidates& candidates, EvictionPlan& out);

private:
    class Trial;
    using Units = std::vector<const EvictionUnit*>;
    // The fewest of the cheapest of `units` that suffice on `node` (none: anywhere), then without
    // those that turn out not to be needed. Empty: all of them do not suffice.
    static Units narrow(Trial& trial, const Units& units, NodeId node);
    // For one pod, node by node: what is cheap elsewhere helps nobody here.
    static Units narrow_by_node(Trial& trial, const Units& units);

    Placer& placer_;
    std::vector<Transaction::Entry> log_;
};

}  // namespace gpuctl
