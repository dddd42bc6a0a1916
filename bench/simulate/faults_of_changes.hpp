#pragma once
// Seeded faults of what people change that no test looks for yet: the worlds with changes
// (sim/swarm/changes/), which are to show them, are not free of violations without a fault.

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gpuctl::bench {

inline constexpr std::string_view kFaultsToLookFor[]{
    "take_changes_of_other_jobs",   "keep_refused_changes",        "drop_seats_on_resume",
    "forget_waiting_node_changes",  "forget_node_changes_on_disk", "keep_moved_nodes",
    "count_moved_nodes_twice",      "keep_deleted_queues",         "keep_deleted_quotas",
    "forget_gain_on_quota",         "take_stale_policy_objects",   "delete_replaced_policy_objects",
    "forget_policy_objects_on_disk"};

inline bool is_looked_for(std::string_view fault) {
    return std::count(std::begin(kFaultsToLookFor), std::end(kFaultsToLookFor), fault) == 0;
}

}  // namespace gpuctl::bench
