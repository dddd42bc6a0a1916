#pragma once
// The remaining work of a job, in pools that preempt long work for short work (docs/adr/0018). The
// remaining time is the stated run time, or the run time that past jobs of its owner make likely,
// less the progress kept at checkpoints. It is multiplied by the number of GPUs to a power that the
// pool chooses. So of two jobs with equal GPU time the one that releases less room per hour of run
// time comes later.
//
// Sizes are base-2 logarithms in units of 1/65536: they are only compared. If the pool orders by
// due times, the due time replaces the size.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "scheduler/policy/run_time_curve.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

inline constexpr Duration kShortestFelt{10'000};  // shorter times make no difference to users
// log2 of a time in ms, in units of 1/65536.
std::int64_t log2_of(Duration time);

class RemainingWork {
public:
    // The size or the due time of a waiting job. Jobs of one class have the same value: stated run
    // times are rounded up to the steps that distinguish classes.
    std::int64_t of_waiting(const ClusterState& state, const JobRow& job) {
        return key(state, job, Duration{}, true);
    }
    // The same for a running job, less this cost of a preemption.
    std::int64_t of_running(const ClusterState& state, const JobRow& job, Duration cost) {
        return key(state, job, cost, false);
    }
    // The remaining time alone.
    Duration remaining_time(const ClusterState& state, const JobRow& job);
    // The time at which the job must begin, because it would run alone after all other work
    // otherwise. It is exact if no job comes or goes and all GPUs are busy until then. Absent:
    // never.
    static std::optional<Instant> begin_by(const ClusterState& state, const JobRow& job);
    // The time for which a running job must not be preempted, approximately and without arrivals;
    // 0: it may be preempted. If the job would have to begin now, or nearly, a preemption and a
    // restart would increase the total work, and must not lead to a preemption in return. Work that
    // the other job loses can still lead to one (docs/limits.md).
    static Duration goes_on_for(const ClusterState& state, const JobRow& job);

private:
    std::int64_t key(const ClusterState& state, const JobRow& job, Duration cost, bool is_rounded);
    std::int64_t due_ms(const ClusterState& state, const JobRow& job);
    const RunTimeCurve& curve_of(const ClusterState& state, const RunTimeQuestion& about);

    struct Kept {
        std::optional<std::uint64_t> revision;  // of the owner's history; absent: not read
        RunTimeCurve curve;
    };
    std::map<std::tuple<TenantId, GpuMilli, Duration>, Kept> curves_;  // caches only
    std::vector<Duration> runs_;                                       // buffers
    std::vector<Duration> unfinished_;
};

}  // namespace gpuctl
