#pragma once
// The sizes of elastic jobs of one pool that state their speed by size (docs/adr/0017):
// marginal-speedup sizing, its inputs and its arithmetic.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/policy/remaining_work.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct SizeChoice {
    std::size_t of = 0;                              // the caller's index of the job
    const std::vector<SizeSpeed>* speeds = nullptr;  // ascending sizes, never empty
    std::int32_t priority = 0;
    GpuMilli each;           // GPUs of a rank
    Duration left;           // remaining run time with its fewest ranks
    Duration restart_again;  // lost by a resize
    Duration restart_on;     // without a resize: what its last resize still costs
    std::int32_t now = 0;    // present number of ranks
    std::int32_t least = 0;  // fewest ranks that it may be given; at most `now`
    std::int32_t most = 0;   // most ranks that it may be given; at least `now`
    std::int32_t aim = 0;    // the result
    std::int64_t worth = 0;  // of a second of its work (weigh_work())
};

// Does marginal speedup decide the size of the job? Jobs with fractions of a GPU are excluded,
// because fractions are not released for other jobs (docs/limits.md).
bool is_sized_by_speedup(const ClusterState& state, const JobRow& job);
// The input of a job that may only keep its size.
SizeChoice choice_of(const ClusterState& state, const JobRow& job, RemainingWork& left);

// Sets the worth of a second of work of each job, where work is measured as time with its fewest
// ranks. The worth is the amount by which the sum of all waiting times falls if that much less work
// is left, without later arrivals. The job that ends last delays only itself; each earlier job
// delays one job more. While the best division of the room is in effect, the work done in a second
// is worth the second that all jobs wait. So the worth of each job follows from that and from the
// worth of the jobs that end later.
void weigh_work(std::vector<SizeChoice>& jobs, GpuMilli room);

// Divides `room`, which includes what the jobs hold now, so that the weighted work within `horizon`
// is largest after deducting the cost of resizes. So short work comes first, and no job is resized
// for less than the resize costs. Jobs of higher priority choose first. A size that is not listed
// is never an aim, but a job may keep it.
void choose_sizes(std::vector<SizeChoice>& jobs, GpuMilli room, Duration horizon);

// The weighted work within `horizon` that the job would lose with this number of ranks instead of
// its present number.
std::int64_t loss_of(const SizeChoice& job, std::int32_t ranks, Duration horizon);

// The time until the job ends, with this number of ranks from now on.
Duration remaining_time_with(const SizeChoice& job, std::int32_t ranks);

}  // namespace gpuctl
