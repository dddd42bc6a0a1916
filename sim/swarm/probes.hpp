#pragma once
// Counts of faults and checks over all simulated seeds: a fault or a check that never occurs proves
// nothing.

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstdint>

namespace gpuctl::sim {

// Several structs, because one cannot describe this many members.
struct ModelProbes {
    std::uint64_t models_checked = 0;           // placements of jobs that take several GPU models
    std::uint64_t gangs_with_roles = 0;         // gangs that started
    std::uint64_t evicted_for_wait_target = 0;  // for jobs that neared their wait target
    std::uint64_t late_checked = 0;             // jobs that cannot finish by their first due time
    std::uint64_t ports_assigned = 0;           // binds of pods with host ports
    std::uint64_t waits_for_ports = 0;          // waiting jobs with this reason
    std::uint64_t binds_to_volumes = 0;         // binds of pods whose volumes few nodes can access
    std::uint64_t moves_counted = 0;            // evictions that took place
    std::uint64_t preempted_by_default = 0;   // jobs that do not state whether they are preemptible
    std::uint64_t cpu_only_pods_cleared = 0;  // CPU-only pods evicted for guaranteed GPUs
    std::uint64_t clearings_tried = 0;        // likewise, by the checker at a fixed point
};
BOOST_DESCRIBE_STRUCT(ModelProbes, (),
                      (models_checked, gangs_with_roles, evicted_for_wait_target, late_checked,
                       ports_assigned, waits_for_ports, binds_to_volumes, moves_counted,
                       preempted_by_default, cpu_only_pods_cleared, clearings_tried))

struct MaintenanceProbes : ModelProbes {
    std::uint64_t windows_drawn = 0;
    std::uint64_t nodes_unhealthy = 0;            // nodes that were reported unhealthy
    std::uint64_t binds_near_windows = 0;         // checked against current and future windows
    std::uint64_t pods_drained = 0;               // evicted from a node for maintenance
    std::uint64_t waits_for_windows = 0;          // waiting jobs with this reason
    std::uint64_t waits_for_several_windows = 0;  // with nodes by window
    std::uint64_t waits_for_reservations = 0;
    std::uint64_t binds_in_reservations = 0;  // binds of jobs that the reservation is for
    std::uint64_t stranded_evicted = 0;       // pods of stranded gangs
};
BOOST_DESCRIBE_STRUCT(MaintenanceProbes, (ModelProbes),
                      (windows_drawn, nodes_unhealthy, binds_near_windows, pods_drained,
                       waits_for_windows, waits_for_several_windows, waits_for_reservations,
                       binds_in_reservations, stranded_evicted))

struct BudgetProbes {
    std::uint64_t budgets_drawn = 0;
    std::uint64_t budgets_recounted = 0;
    std::uint64_t budgets_overdrawn = 0;  // seen after a period that was overdrawn
    std::uint64_t waits_for_budgets = 0;  // waiting jobs with this reason
    std::uint64_t waits_for_reserves = 0;
    std::uint64_t guarantees_outgrown = 0;  // guarantees smaller than the demand of their queue
};
BOOST_DESCRIBE_STRUCT(BudgetProbes, (),
                      (budgets_drawn, budgets_recounted, budgets_overdrawn, waits_for_budgets,
                       waits_for_reserves, guarantees_outgrown))

// Fractions of GPUs.
struct PartProbes {
    std::uint64_t parts_placed = 0;
    std::uint64_t devices_shared = 0;     // fractions placed on a device in use
    std::uint64_t parts_evicted = 0;      // fractions evicted for other jobs
    std::uint64_t evicted_for_parts = 0;  // pods evicted for a job with fractions of GPUs
};
BOOST_DESCRIBE_STRUCT(PartProbes, (),
                      (parts_placed, devices_shared, parts_evicted, evicted_for_parts))

// Elastic jobs.
struct SizeProbes {
    std::uint64_t growths_placed = 0;  // placements of ranks beyond the minimum
    std::uint64_t growths_sent = 0;    // resizes to more ranks
    std::uint64_t ranks_shrunk = 0;    // beneficiaries of removed ranks
    std::uint64_t ranks_shrunk_elsewhere =
        0;                            // likewise in another pool, for quota of their namespace
    std::uint64_t sizes_ceded = 0;    // by jobs with a smaller marginal speedup
    std::uint64_t shrinks_tried = 0;  // for waiting jobs, by the checker at a fixed point
    std::uint64_t resizes_turned_down = 0;
};
BOOST_DESCRIBE_STRUCT(SizeProbes, (),
                      (growths_placed, growths_sent, ranks_shrunk, ranks_shrunk_elsewhere,
                       sizes_ceded, shrinks_tried, resizes_turned_down))

// Finished jobs.
struct RetentionProbes {
    std::uint64_t jobs_summarized = 0;
    std::uint64_t jobs_removed = 0;         // removed by the limits of number and age
    std::uint64_t names_reused = 0;         // jobs submitted under the name of a summarized job
    std::uint64_t ends_reported_again = 0;  // ends of pods of summarized jobs
    // Pods without GPUs.
    std::uint64_t packings_checked = 0;
    std::uint64_t slots_taken_from_gpus = 0;  // because no other node had a pod slot
};
BOOST_DESCRIBE_STRUCT(RetentionProbes, (),
                      (jobs_summarized, jobs_removed, names_reused, ends_reported_again,
                       packings_checked, slots_taken_from_gpus))

struct Probes : MaintenanceProbes, BudgetProbes, PartProbes, SizeProbes, RetentionProbes {
    std::uint64_t steps = 0;
    std::uint64_t plans = 0;
    std::uint64_t jobs_submitted = 0;
    std::uint64_t jobs_deleted = 0;
    std::uint64_t gangs_started = 0;  // gangs with more than one rank
    std::uint64_t binds_accepted = 0;
    // Faults.
    std::uint64_t binds_turned_down = 0;
    std::uint64_t binds_unanswered = 0;  // bound, but answered seconds later
    std::uint64_t answers_stale = 0;     // to a bind that had been sent again
    std::uint64_t kubelet_rejections = 0;
    std::uint64_t creates_failed = 0;
    std::uint64_t deletes_failed = 0;
    std::uint64_t containers_failed = 0;
    std::uint64_t pods_evicted = 0;
    std::uint64_t pods_deleted = 0;
    std::uint64_t gang_rollbacks = 0;
    std::uint64_t nodes_lost = 0;
    std::uint64_t nodes_left = 0;
    std::uint64_t nodes_changed = 0;  // shrank, grew, another model, cordoned without a taint
    std::uint64_t policies_changed = 0;
    std::uint64_t leaderships_lost = 0;
    std::uint64_t scheduler_restarts = 0;
    std::uint64_t effects_lost = 0;  // restarts that lost the effects of the last step
    std::uint64_t full_restarts = 0;
    std::uint64_t steps_of_restored = 0;  // of engines restored from an image (restored_engine.hpp)
    // Evictions for other jobs.
    std::uint64_t evictions_sent = 0;
    std::uint64_t evictions_accepted = 0;
    std::uint64_t evictions_turned_down = 0;
    std::uint64_t nominations_used = 0;  // pods bound to their nominated node
    // Checks.
    std::uint64_t orders_compared = 0;    // pairs of placements
    std::uint64_t branches_compared = 0;  // pairs of these between two branches of a queue tree
    std::uint64_t limits_recounted = 0;   // in reported reasons
    std::uint64_t usages_recounted = 0;
    std::uint64_t waits_tried = 0;  // waiting jobs tried by the checker at a fixed point
    std::uint64_t explanations_recounted = 0;
    std::uint64_t reservations_recounted = 0;  // of the head of line of a pool
    std::uint64_t kept_nodes_checked = 0;     // nodes kept for a head of line without a reservation
    std::uint64_t quota_reservations = 0;     // of the head of line under a limit
    std::uint64_t overtakings_checked = 0;    // placed jobs checked against quota reservations
    std::uint64_t pods_reclaimed = 0;         // of another queue, for a guarantee
    std::uint64_t preempted_for_shorter = 0;  // pods with more remaining work
    std::uint64_t preempted_for_late = 0;     // pods, for a job that had to start
    std::uint64_t preempted_for_due = 0;      // pods, for a job that was due sooner
    std::uint64_t disruptions_tried = 0;      // for waiting jobs, by the checker at a fixed point
    std::uint64_t reclaims_tried = 0;         // likewise, between queues
    std::uint64_t topologies_checked = 0;     // placements with topology rules
};
BOOST_DESCRIBE_STRUCT(
    Probes, (MaintenanceProbes, BudgetProbes, PartProbes, SizeProbes, RetentionProbes),
    (steps, plans, jobs_submitted, jobs_deleted, gangs_started, binds_accepted, binds_turned_down,
     binds_unanswered, answers_stale, kubelet_rejections, creates_failed, deletes_failed,
     containers_failed, pods_evicted, pods_deleted, gang_rollbacks, nodes_lost, nodes_left,
     nodes_changed, policies_changed, leaderships_lost, scheduler_restarts, effects_lost,
     full_restarts, steps_of_restored, evictions_sent, evictions_accepted, evictions_turned_down,
     nominations_used, pods_reclaimed, preempted_for_shorter, preempted_for_late, preempted_for_due,
     disruptions_tried, reclaims_tried, orders_compared, branches_compared, limits_recounted,
     usages_recounted, waits_tried, explanations_recounted, reservations_recounted,
     kept_nodes_checked, quota_reservations, overtakings_checked, topologies_checked))

// Calls visit(name, value) for every probe, in the order above.
template <typename Visit>
void for_each_probe(const Probes& probes, Visit visit) {
    using Members = boost::describe::describe_members<Probes, boost::describe::mod_public |
                                                                  boost::describe::mod_inherited>;
    boost::mp11::mp_for_each<Members>(
        [&](auto member) { visit(member.name, probes.*member.pointer); });
}

inline Probes& operator+=(Probes& to, const Probes& from) {
    using Members = boost::describe::describe_members<Probes, boost::describe::mod_public |
                                                                  boost::describe::mod_inherited>;
    boost::mp11::mp_for_each<Members>(
        [&](auto member) { to.*member.pointer += from.*member.pointer; });
    return to;
}

}  // namespace gpuctl::sim
