#pragma once
// How much is left of a job, in pools that stop long work for short (docs/adr/0018). The time left
// is what its user says, or what past jobs of its owner make likely, less what it has done and
// kept; times its GPUs to a power that the pool chooses, so that of two jobs alike the one that
// gives back less room per hour of its own comes later.
//
// Sizes are logarithms to base 2, in 65536ths: they are only ever compared. Where the pool goes by
// when work is due, that moment stands for the size.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "scheduler/policy/run_time_curve.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

inline constexpr Duration kShortestFelt{10'000};  // below, nobody feels a difference

class WorkLeft {
public:
    // Of one that waits. Jobs of one class have the same: what is said of run times counts rounded
    // up to the steps that classes are told apart by.
    std::int64_t of_waiting(const ClusterState& state, const JobRow& job);
    // Of one that runs, when stopping it costs so much.
    std::int64_t of_running(const ClusterState& state, const JobRow& job, Duration cost);
    // The time alone of a job of which so much is done.
    Duration time_left(const ClusterState& state, const RunTimeQuestion& about, Duration done);
    // When it has to begin, or it would run on alone when all else is done: if nothing comes or
    // goes and all GPUs are busy until then; absent: never.
    static std::optional<Instant> begin_by(const ClusterState& state, const JobRow& job);
    // One that runs and would have to begin now, or nearly: to be stopped for others and to start
    // makes all of the work more, and is not to bring it about that it is stopped in turn. How long
    // that lasts, or nearly, if nothing comes; 0: it may be stopped.
    static Duration goes_on_for(const ClusterState& state, const JobRow& job);

private:
    std::int64_t due_ms(const ClusterState& state, const JobRow& job);
    const RunTimeCurve& curve_of(const ClusterState& state, const RunTimeQuestion& about);

    struct Kept {
        bool is_read = false;
        std::uint64_t revision = 0;
        RunTimeCurve curve;
    };
    std::map<std::tuple<TenantId, GpuMilli, Duration>, Kept> curves_;  // only speed things up
    std::vector<Duration> runs_;                                       // buffers
    std::vector<Duration> unfinished_;
};

// The one factor of all sizes: time times GPUs to the pool's power.
std::int64_t size_log2(const PreemptionPolicy& policy, Duration time, GpuMilli gpus);

}  // namespace gpuctl
