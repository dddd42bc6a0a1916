#pragma once
// The cheapest few to stop so that a job starts: shown on the columns themselves, in a transaction
// that leaves no trace. A set that is found is minimal: without any one of it the job does not fit.

#include <vector>

#include "scheduler/plan/node_bounds.hpp"
#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/reservation.hpp"
#include "scheduler/plan/units_by_node.hpp"
#include "scheduler/plan/victims.hpp"

namespace gpuctl {

struct EvictionPlan {
    std::vector<Placement> round;  // where the job goes once they are gone
    std::vector<Victim> victims;
};

class EvictionTrial;

// One pod: node by node, cheapest bound first. A gang: the cheapest nodes first. What a limit stops
// is looked for everywhere.
class EvictionSearch {
public:
    explicit EvictionSearch(Placer& placer) : placer_(placer) {}

    // What this promises is kept out of what follows, but for what leaves beside it; null: nothing.
    void leave_room_of(Reservation* promised) { beside_ = promised; }
    // False when stopping nobody of them would help, or when what is leaving anyway is enough.
    bool find(ClusterState& state, JobId job, const std::vector<PodId>& pods,
              const Candidates& candidates, EvictionPlan& out);

    // For one pod, whom `preempt` allows: without reading all of them. False also when a limit
    // stands in its way, or it wishes where to stand: then find() may know more.
    bool find_of_lower_priority(ClusterState& state, JobId job, PodId pod, EvictionPlan& out);

    // Once these of its own are gone, all of `pods`, they among them, find room at once.
    bool fits_anew(ClusterState& state, JobId job, const std::vector<PodId>& pods,
                   const EvictionUnit& own);

private:
    // The fewest of the cheapest of `units` that suffice on `node` (none: anywhere), then without
    // those that turn out not to be needed. Empty: all of them do not suffice.
    static Units narrow(EvictionTrial& trial, const Units& units, NodeId node);
    static Units narrow_on_node(EvictionTrial& trial, Units units, NodeId node);
    // For one pod: what is cheap elsewhere helps nobody here.
    template <typename UnitsOn>
    static Units narrow_by_node(EvictionTrial& trial, std::vector<NodeBound> bounds,
                                const UnitsOn& units_on);
    static Units narrow_by_node(EvictionTrial& trial, const Units& units);
    static Units narrow_for_gang(EvictionTrial& trial, const Units& units);
    static Units choose(EvictionTrial& trial, const Units& units);
    static bool tell(EvictionTrial& trial, const Units& chosen, EvictionPlan& out);

    Placer& placer_;
    Reservation* beside_ = nullptr;
    std::vector<Transaction::Entry> log_;
};

}  // namespace gpuctl
