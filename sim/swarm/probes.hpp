#pragma once
// What happened over the seeds that were lived: each kind of trouble counted, because a fault that
// never fired proves nothing.

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstdint>

namespace gpuctl::sim {

// Apart, as more members than one struct can describe.
struct ModelProbes {
    std::uint64_t models_judged = 0;            // placements of jobs that take several GPU models
    std::uint64_t gangs_with_roles = 0;         // that started
    std::uint64_t stopped_for_wait_target = 0;  // for jobs that neared it
    std::uint64_t late_judged = 0;              // that cannot be done when they were due first
    std::uint64_t ports_given = 0;              // binds of pods that listen at ports of their node
    std::uint64_t waits_for_ports = 0;          // waiting jobs told that a port is why
    std::uint64_t binds_to_volumes = 0;         // of pods whose volumes few nodes reach
    std::uint64_t moves_counted = 0;            // pods that went because they were evicted
    std::uint64_t stopped_unasked = 0;          // for higher priority, of users who said nothing
    std::uint64_t guests_cleared = 0;           // pods without GPUs, beside those of a guarantee
    std::uint64_t clearings_tried = 0;          // likewise, by hand at a fixed point
};
BOOST_DESCRIBE_STRUCT(ModelProbes, (),
                      (models_judged, gangs_with_roles, stopped_for_wait_target, late_judged,
                       ports_given, waits_for_ports, binds_to_volumes, moves_counted,
                       stopped_unasked, guests_cleared, clearings_tried))

struct MaintenanceProbes : ModelProbes {
    std::uint64_t windows_drawn = 0;
    std::uint64_t nodes_unhealthy = 0;            // told to be
    std::uint64_t binds_beside_windows = 0;       // held against windows that are or will be
    std::uint64_t pods_drained = 0;               // asked to leave a node that is to be empty
    std::uint64_t waits_for_windows = 0;          // waiting jobs told that maintenance is why
    std::uint64_t waits_for_several_windows = 0;  // told which nodes each of them bars
    std::uint64_t waits_for_reservations = 0;
    std::uint64_t binds_in_reservations = 0;  // of whom they are for
    std::uint64_t stranded_stopped = 0;       // pods of gangs that had lacked ranks for too long
};
BOOST_DESCRIBE_STRUCT(MaintenanceProbes, (ModelProbes),
                      (windows_drawn, nodes_unhealthy, binds_beside_windows, pods_drained,
                       waits_for_windows, waits_for_several_windows, waits_for_reservations,
                       binds_in_reservations, stranded_stopped))

struct BudgetProbes {
    std::uint64_t budgets_drawn = 0;
    std::uint64_t budgets_recounted = 0;
    std::uint64_t budgets_overdrawn = 0;  // seen in a period that another had overdrawn
    std::uint64_t waits_for_budgets = 0;  // waiting jobs told that a budget is why
    std::uint64_t waits_beside_reserves = 0;
    std::uint64_t guarantees_outgrown = 0;  // by a queue that wants more
};
BOOST_DESCRIBE_STRUCT(BudgetProbes, (),
                      (budgets_drawn, budgets_recounted, budgets_overdrawn, waits_for_budgets,
                       waits_beside_reserves, guarantees_outgrown))

// Parts of GPUs.
struct PartProbes {
    std::uint64_t parts_placed = 0;
    std::uint64_t devices_shared = 0;     // parts placed beside others
    std::uint64_t parts_stopped = 0;      // for others
    std::uint64_t stopped_for_parts = 0;  // pods, for a job whose own hold parts
};
BOOST_DESCRIBE_STRUCT(PartProbes, (),
                      (parts_placed, devices_shared, parts_stopped, stopped_for_parts))

// Elastic jobs.
struct SizeProbes {
    std::uint64_t growths_placed = 0;          // rounds of ranks beyond the minimum
    std::uint64_t growths_sent = 0;            // workloads told to have more
    std::uint64_t ranks_shrunk = 0;            // for whom ranks were told to go, job by job
    std::uint64_t ranks_shrunk_elsewhere = 0;  // likewise, for the quota of their namespace
    std::uint64_t sizes_given = 0;             // by jobs from which others gain more
    std::uint64_t shrinks_tried = 0;           // for waiting jobs, by hand at a fixed point
    std::uint64_t resizes_turned_down = 0;
};
BOOST_DESCRIBE_STRUCT(SizeProbes, (),
                      (growths_placed, growths_sent, ranks_shrunk, ranks_shrunk_elsewhere,
                       sizes_given, shrinks_tried, resizes_turned_down))

// Finished jobs.
struct RetentionProbes {
    std::uint64_t jobs_summarized = 0;
    std::uint64_t jobs_removed = 0;     // by the limits
    std::uint64_t names_taken = 0;      // jobs submitted under the name of a summary
    std::uint64_t ends_told_again = 0;  // of pods of a summary
    // Pods without GPUs.
    std::uint64_t packings_judged = 0;
    std::uint64_t slots_taken_from_gpus = 0;  // as no other node had any
};
BOOST_DESCRIBE_STRUCT(RetentionProbes, (),
                      (jobs_summarized, jobs_removed, names_taken, ends_told_again, packings_judged,
                       slots_taken_from_gpus))

struct Probes : MaintenanceProbes, BudgetProbes, PartProbes, SizeProbes, RetentionProbes {
    std::uint64_t steps = 0;
    std::uint64_t plans = 0;
    std::uint64_t jobs_submitted = 0;
    std::uint64_t jobs_deleted = 0;
    std::uint64_t gangs_started = 0;  // of more than one rank
    std::uint64_t binds_accepted = 0;
    // Faults.
    std::uint64_t binds_turned_down = 0;
    std::uint64_t binds_unanswered = 0;  // bound, and the answer came seconds late
    std::uint64_t answers_stale = 0;     // to a bind that had been sent again meanwhile
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
    std::uint64_t effects_lost = 0;  // scheduler restarts that lost the effects of a last step
    std::uint64_t full_restarts = 0;
    std::uint64_t steps_of_twins = 0;  // engines read from an image (twin.hpp)
    // Evictions for the sake of others.
    std::uint64_t evictions_sent = 0;
    std::uint64_t evictions_accepted = 0;
    std::uint64_t evictions_turned_down = 0;
    std::uint64_t claims_used = 0;  // pods that were bound where room was kept for them
    // Looks.
    std::uint64_t orders_compared = 0;    // pairs of placements
    std::uint64_t branches_compared = 0;  // of them, of two branches of a tree
    std::uint64_t limits_recounted = 0;   // told to users
    std::uint64_t usages_recounted = 0;
    std::uint64_t waits_tried = 0;  // waiting jobs tried by hand at a fixed point
    std::uint64_t explanations_recounted = 0;
    std::uint64_t promises_recounted = 0;   // to the first in line of a pool
    std::uint64_t rooms_kept = 0;           // for one that nothing can be promised
    std::uint64_t limits_kept = 0;          // for the first in line for what one leaves
    std::uint64_t passings_judged = 0;      // of those, by what was placed
    std::uint64_t pods_reclaimed = 0;       // of another queue, for what it is guaranteed
    std::uint64_t stopped_for_shorter = 0;  // pods, of which more was left
    std::uint64_t stopped_for_late = 0;     // pods, for a job that had to begin
    std::uint64_t stopped_for_due = 0;      // pods, for a job that was due sooner
    std::uint64_t disruptions_tried = 0;    // for waiting jobs, by hand at a fixed point
    std::uint64_t reclaims_tried = 0;       // likewise, between queues
    std::uint64_t topologies_judged = 0;    // placements that were to be together or apart
};
BOOST_DESCRIBE_STRUCT(
    Probes, (MaintenanceProbes, BudgetProbes, PartProbes, SizeProbes, RetentionProbes),
    (steps, plans, jobs_submitted, jobs_deleted, gangs_started, binds_accepted, binds_turned_down,
     binds_unanswered, answers_stale, kubelet_rejections, creates_failed, deletes_failed,
     containers_failed, pods_evicted, pods_deleted, gang_rollbacks, nodes_lost, nodes_left,
     nodes_changed, policies_changed, leaderships_lost, scheduler_restarts, effects_lost,
     full_restarts, steps_of_twins, evictions_sent, evictions_accepted, evictions_turned_down,
     claims_used, pods_reclaimed, stopped_for_shorter, stopped_for_late, stopped_for_due,
     disruptions_tried, reclaims_tried, orders_compared, branches_compared, limits_recounted,
     usages_recounted, waits_tried, explanations_recounted, promises_recounted, rooms_kept,
     limits_kept, passings_judged, topologies_judged))

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
