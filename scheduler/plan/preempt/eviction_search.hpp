#pragma once
// Finds the cheapest victims that let a job start. Each trial runs on the columns themselves, in a
// transaction that is rolled back. The result is minimal: without any one of the victims the job
// does not fit.

#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/backfill/reservation.hpp"
#include "scheduler/plan/overlay.hpp"
#include "scheduler/plan/preempt/node_bounds.hpp"
#include "scheduler/plan/preempt/units_by_node.hpp"
#include "scheduler/plan/preempt/victims.hpp"

namespace gpuctl {

struct EvictionPlan {
    std::vector<Placement> round;  // where the job is placed after the evictions
    std::vector<Victim> victims;
};

class EvictionTrial;

// One pod: node by node, lowest bound first. A gang: the cheapest nodes first. For a limit the
// search covers all nodes.
class EvictionSearch {
public:
    explicit EvictionSearch(Placer& placer) : placer_(placer) {}

    // False if no eviction helps, or if terminating pods release enough anyway. Capacity of the
    // withheld reservation is not used, except what evictions release beyond it; null: none.
    bool find(const Overlay& overlay, JobId job, const std::vector<PodId>& pods,
              const Candidates& candidates, Reservation* withheld, EvictionPlan& out);

    // For one pod, victims that `preempt` allows, without reading all of them. False also if a
    // limit blocks the job, or if it has topology rules or GPU model preferences: then find() may
    // find more.
    bool find_of_lower_priority(const Overlay& overlay, JobId job, PodId pod, EvictionPlan& out);

    // After the eviction of these own pods, all of `pods` including them find room at once.
    bool fits_anew(const Overlay& overlay, JobId job, const std::vector<PodId>& pods,
                   const EvictionUnit& own);

private:
    // The smallest cheapest prefix of `units` that is sufficient on `node` (none: anywhere),
    // without the units that turn out to be unnecessary. Empty: all of them are not sufficient.
    static Units narrow(EvictionTrial& trial, const Units& units, NodeId node);
    static Units narrow_on_node(EvictionTrial& trial, Units units, NodeId node);
    // For one pod: units on other nodes do not help here.
    template <typename UnitsOn>
    static Units narrow_by_node(EvictionTrial& trial, std::vector<NodeBound> bounds,
                                const UnitsOn& units_on);
    static Units narrow_by_node(EvictionTrial& trial, const Units& units);
    static Units narrow_for_gang(EvictionTrial& trial, const Units& units);
    static Units choose(EvictionTrial& trial, const Units& units);
    static bool tell(EvictionTrial& trial, const Units& chosen, EvictionPlan& out);

    Placer& placer_;
    std::vector<Transaction::Entry> log_;
};

}  // namespace gpuctl
