#pragma once
// Finds the cheapest victims that let a job start. Each trial runs on the columns themselves, in a
// transaction that is rolled back. The result is minimal: the job does not fit if any one of the
// victims stays.

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

// For one pod the search goes node by node, lowest bound first. For a gang it begins on the
// cheapest nodes. For a limit it covers all nodes.
class EvictionSearch {
public:
    explicit EvictionSearch(Placer& placer) : placer_(placer) {}

    // False if no eviction helps, or if terminating pods release enough anyway. Capacity of the
    // withheld reservation is not used, except what evictions release beyond it; null: no
    // reservation.
    bool find(const Overlay& overlay, JobId job, const std::vector<PodId>& pods,
              const Candidates& candidates, Reservation* withheld, EvictionPlan& out);

    // Finds for one pod victims that `preempt` allows, without reading all of them. It also returns
    // false if a limit blocks the job, or if the job has topology rules or GPU model preferences:
    // then find() may find more.
    bool find_of_lower_priority(const Overlay& overlay, JobId job, PodId pod, EvictionPlan& out);

    // Whether all of `pods` find room at once when their own running pods in this unit are evicted.
    bool fits_after_eviction(const Overlay& overlay, JobId job, const std::vector<PodId>& pods,
                             const EvictionUnit& own);

private:
    // The smallest prefix of `units`, cheapest first, that is sufficient on `node` (none:
    // anywhere), without the units that turn out to be unnecessary. Empty: all of them are not
    // sufficient.
    static Units narrow(EvictionTrial& trial, const Units& units, NodeId node);
    static Units narrow_on_node(EvictionTrial& trial, Units units, NodeId node);
    // Searches for one pod: units on other nodes do not help on a node.
    template <typename UnitsOn>
    static Units narrow_by_node(EvictionTrial& trial, std::vector<NodeBound> bounds,
                                const UnitsOn& units_on);
    static Units narrow_by_node(EvictionTrial& trial, const Units& units);
    static Units narrow_for_gang(EvictionTrial& trial, const Units& units);
    static Units choose(EvictionTrial& trial, const Units& units);
    static bool write_plan(EvictionTrial& trial, const Units& chosen, EvictionPlan& out);

    Placer& placer_;
    std::vector<Transaction::Entry> log_;
};

}  // namespace gpuctl
