#pragma once
// Which sizes elastic jobs of one pool are to have that say how fast they are by size (ADR 0017):
// how they are asked, and the arithmetic of the answer.

#include <cstdint>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/policy/work_left.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct SizeChoice {
    const std::vector<SizeSpeed>* speeds = nullptr;  // rising sizes, never empty
    std::int32_t priority = 0;
    GpuMilli each;           // GPUs of a rank
    Duration left;           // of its work, as time with its fewest ranks
    Duration restart_again;  // lost when it changes size ...
    Duration restart_on;     // ... and what it has still to lose of its last change when not
    std::int32_t now = 0;    // ranks
    std::int32_t least = 0;  // it may be given; at most `now`
    std::int32_t most = 0;   // at least `now`
    std::int32_t aim = 0;    // the answer
    std::int64_t worth = 0;  // of a second of its work (weigh_work())
};

// Ranks of elastic jobs of the pool are going that nobody has claimed the room of.
bool is_room_to_come(const ClusterState& state, PoolId pool);

// Does its size go by gain? Parts of a GPU do not go for others (docs/limits.md): not theirs.
bool chooses_by_gain(const ClusterState& state, const JobRow& job);
// One that may only keep what it has.
SizeChoice choice_of(const ClusterState& state, const JobRow& job, WorkLeft& left);

// What a second of work of each is worth, as time with its fewest ranks: by how much the sum of all
// their waits falls if so much less is left of it, were nobody else to come. The one that ends last
// holds up nobody but itself; before it, each holds up one more. While the best division of the
// room goes on, what it does in a second is worth the second that all of them wait: from that, and
// from what those behind it are worth, each follows.
void weigh_work(std::vector<SizeChoice>& jobs, GpuMilli room);

// Divides `room`, which holds all they have now, so that most is done within `horizon`, by what it
// is worth, what a change of size costs taken off before. So what is short comes first, and nobody
// changes size for less than it costs. Those of higher priority choose first. A size that is not
// listed is nobody's aim, but may be kept.
void choose_sizes(std::vector<SizeChoice>& jobs, GpuMilli room, Duration horizon);

// What it would lose of that by having so many ranks instead of what it has.
std::int64_t loss_of(const SizeChoice& job, std::int32_t ranks, Duration horizon);

// Until the job ends, if it has so many ranks from now on.
Duration time_left_with(const SizeChoice& job, std::int32_t ranks);

}  // namespace gpuctl
