#pragma once
// What holds of every promise to the first in line, of room on nodes and of what limits leave.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Even where no moment can be told, something is kept for it.
bool has_waited_for_long(const ClusterState& state, const JobRow& job);
// Its grace was over long ago: a finalizer, or a container that nobody can stop. When it will be
// gone is not known, and nothing is promised of it.
bool is_stuck(const ClusterState& state, const PodRow& pod);
// It runs, nobody knows for how long, and it will come to an end by itself.
bool ends_some_day(const PodRow& pod);
Instant began_at(const PodRow& pod);
// Work of this limit that starts now has ended by the moment that was promised.
bool is_over_by(Instant moment, Instant now, Duration limit);

}  // namespace gpuctl
