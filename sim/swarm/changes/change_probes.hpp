#pragma once
// Counts of what people change in worlds with changes: a change that never occurs proves nothing.

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstdint>

namespace gpuctl::sim {

struct JobChangeProbes {
    std::uint64_t pauses = 0;
    std::uint64_t pauses_that_release = 0;
    std::uint64_t resumes = 0;
    std::uint64_t applies_in_place = 0;
    std::uint64_t applies_again = 0;  // the job is deleted and created again
    std::uint64_t scales = 0;
    std::uint64_t changes_at_once = 0;  // a second change of what both have read
    std::uint64_t changes_accepted = 0;
    std::uint64_t changes_stale = 0;  // not accepted, as all below
    std::uint64_t changes_of_other_jobs = 0;
    std::uint64_t changes_too_early = 0;  // an earlier change is not carried out yet
    std::uint64_t changes_forbidden = 0;  // accepted, and undone because the cluster refused them
    std::uint64_t changes_compared = 0;   // with the object in the cluster, once carried out
    std::uint64_t seats_left = 0;         // by pods of paused jobs
    std::uint64_t seats_used = 0;         // by resumed jobs
};
BOOST_DESCRIBE_STRUCT(JobChangeProbes, (),
                      (pauses, pauses_that_release, resumes, applies_in_place, applies_again,
                       scales, changes_at_once, changes_accepted, changes_stale,
                       changes_of_other_jobs, changes_too_early, changes_forbidden,
                       changes_compared, seats_left, seats_used))

struct NodeChangeProbes {
    std::uint64_t labels_set = 0;
    std::uint64_t cordons = 0;
    std::uint64_t uncordons = 0;
    std::uint64_t drains = 0;
    std::uint64_t nodes_moved = 0;  // to another pool
    std::uint64_t node_changes_answered = 0;
    std::uint64_t node_changes_refused = 0;  // by the cluster
    std::uint64_t node_changes_queued = 0;   // behind another change of the node
    std::uint64_t node_changes_resent = 0;   // in a new term
};
BOOST_DESCRIBE_STRUCT(NodeChangeProbes, (),
                      (labels_set, cordons, uncordons, drains, nodes_moved, node_changes_answered,
                       node_changes_refused, node_changes_queued, node_changes_resent))

struct PolicyEditProbes {
    std::uint64_t pools_put = 0;
    std::uint64_t pools_without_nodes = 0;
    std::uint64_t pools_deleted = 0;
    std::uint64_t pools_deleted_in_use = 0;  // jobs run there
    std::uint64_t queues_put = 0;
    std::uint64_t queues_deleted = 0;
    std::uint64_t quotas_put = 0;
    std::uint64_t quotas_below_use = 0;
    std::uint64_t quotas_deleted = 0;
    std::uint64_t namespaces_put = 0;
    std::uint64_t objects_stale = 0;              // older than the known one: ignored
    std::uint64_t objects_of_others_deleted = 0;  // by an older uid: ignored
    std::uint64_t edits_lost = 0;                 // gpuctld ended before it stored them
    std::uint64_t policies_read_back = 0;         // from disk, with objects
};
BOOST_DESCRIBE_STRUCT(PolicyEditProbes, (),
                      (pools_put, pools_without_nodes, pools_deleted, pools_deleted_in_use,
                       queues_put, queues_deleted, quotas_put, quotas_below_use, quotas_deleted,
                       namespaces_put, objects_stale, objects_of_others_deleted, edits_lost,
                       policies_read_back))

struct ChangeProbes : JobChangeProbes, NodeChangeProbes, PolicyEditProbes {};
BOOST_DESCRIBE_STRUCT(ChangeProbes, (JobChangeProbes, NodeChangeProbes, PolicyEditProbes), ())

using ChangeProbeMembers =
    boost::describe::describe_members<ChangeProbes,
                                      boost::describe::mod_public | boost::describe::mod_inherited>;

// Calls visit(name, value) for every probe, in the order above.
template <typename Visit>
void for_each_change_probe(const ChangeProbes& probes, Visit visit) {
    boost::mp11::mp_for_each<ChangeProbeMembers>(
        [&](auto member) { visit(member.name, probes.*member.pointer); });
}

inline ChangeProbes& operator+=(ChangeProbes& to, const ChangeProbes& from) {
    boost::mp11::mp_for_each<ChangeProbeMembers>(
        [&](auto member) { to.*member.pointer += from.*member.pointer; });
    return to;
}

}  // namespace gpuctl::sim
