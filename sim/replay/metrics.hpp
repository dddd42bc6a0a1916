#pragma once
// Figures of quality.md from what happened in a world. Floating point is allowed from here on:
// nothing below feeds a decision.

#include <cstdint>
#include <vector>

#include "sim/replay/world.hpp"

namespace gpuctl::replay {

[[nodiscard]] double mean(const std::vector<double>& values);
// The value at position floor(n * percent / 100) of the sorted ones, counted from 0: Muri's way.
[[nodiscard]] double percentile(std::vector<double> values, double percent);
[[nodiscard]] double maximum(const std::vector<double>& values);

// By job, in seconds.
[[nodiscard]] std::vector<double> completion_times_s(const World& world);
[[nodiscard]] std::vector<double> waits_s(const World& world);         // until the first start
[[nodiscard]] std::vector<double> queue_delays_s(const World& world);  // completion less run time
[[nodiscard]] double makespan_s(const World& world);                   // from the trace's begin
[[nodiscard]] std::int64_t preemptions(const World& world);

// max(1, (wait + run) / max(run, 10 s)) by job.
[[nodiscard]] std::vector<double> bounded_slowdowns(const World& world);

// Completion time over what an equal share of the cluster would have given, by job.
[[nodiscard]] std::vector<double> finish_time_fairness(const World& world);

// Waits of more than `grace` at a stretch while all that the job's owner runs and waits for fits
// into the owner's quota; counted once per such stretch.
[[nodiscard]] std::int64_t guarantee_violations(const World& world, Duration grace);

}  // namespace gpuctl::replay
