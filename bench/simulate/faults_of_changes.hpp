#pragma once
// Seeded faults that only worlds with changes show (sim/swarm/changes/).

#include <algorithm>
#include <iterator>
#include <string_view>

#include "bench/simulate/runner.hpp"

namespace gpuctl::bench {

inline constexpr std::string_view kFaultsOfChanges[]{"keep_no_seats",
                                                     "seats_cost_nothing",
                                                     "keep_seats_after_release",
                                                     "place_paused_jobs",
                                                     "forget_seats_on_disk",
                                                     "take_stale_changes",
                                                     "take_changes_of_other_jobs",
                                                     "keep_refused_changes",
                                                     "drop_seats_on_resume",
                                                     "forget_open_node_changes",
                                                     "send_node_changes_together",
                                                     "forget_waiting_node_changes",
                                                     "forget_node_changes_on_disk",
                                                     "keep_moved_nodes",
                                                     "count_moved_nodes_twice",
                                                     "keep_deleted_queues",
                                                     "keep_deleted_quotas",
                                                     "forget_gain_on_quota",
                                                     "take_stale_policy_objects",
                                                     "delete_replaced_policy_objects",
                                                     "forget_policy_objects_on_disk"};

inline sim::WorldKind worlds_of(std::string_view fault) {
    const bool is_one =
        std::count(std::begin(kFaultsOfChanges), std::end(kFaultsOfChanges), fault) > 0;
    return is_one ? sim::WorldKind::with_changes : sim::WorldKind::plain;
}

}  // namespace gpuctl::bench
