#pragma once
// Metrics of a replayed world: completion times, waits, slowdown, fairness, guarantees. Floating
// point is allowed here, because no decision depends on it.

#include <cstdint>
#include <vector>

#include "sim/replay/percentile.hpp"
#include "sim/replay/world.hpp"

namespace gpuctl::replay {

[[nodiscard]] double mean(const std::vector<double>& values);
[[nodiscard]] double maximum(const std::vector<double>& values);

// By job, in seconds.
[[nodiscard]] std::vector<double> completion_times_s(const World& world);
[[nodiscard]] std::vector<double> waits_s(const World& world);  // until the first start
// completion time less run time
[[nodiscard]] std::vector<double> queue_delays_s(const World& world);
[[nodiscard]] double makespan_s(const World& world);  // from the begin of the trace
[[nodiscard]] std::int64_t preemptions(const World& world);

// max(1, (wait + run time) / max(run time, 10 s)), by job.
[[nodiscard]] std::vector<double> bounded_slowdowns(const World& world);

// Completion time divided by the completion time with an equal share of the cluster, by job.
[[nodiscard]] std::vector<double> finish_time_fairness(const World& world);

// The number of waits longer than `grace` during which everything that the job's owner runs and
// waits for fits into the owner's quota. A wait is counted once.
[[nodiscard]] std::int64_t guarantee_violations(const World& world, Duration grace);

}  // namespace gpuctl::replay
