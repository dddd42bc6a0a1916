#pragma once
// The run of a job: when it began and ended, how long it may and will take.

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

// What was allowed is doubled this often until the job could keep to it, and that may be once more
// from a time on (docs/adr/0018).
struct Lateness {
    std::int32_t doublings = 0;
    Instant again_at;  // while it waits; else never
    friend auto operator<=>(const Lateness&, const Lateness&) = default;
};
BOOST_DESCRIBE_STRUCT(Lateness, (), (doublings, again_at))

// The run, as far as pods that are gone say; pods that are there say the rest (present_run.hpp).
//
//   unknown ──a pod that ran is gone──> under_way ──its last pod is stopped, or fails──> over
//                                         ^                                               │
//                                         └────── a pod of the next run is gone ──────────┘
enum class RunPhase : std::uint8_t { unknown, under_way, over };

struct RunRow {
    Instant started_at;          // of pods that are gone (present_run.hpp)
    Instant earlier_runs_until;  // what began no later was of a run that is over
    Instant finished_at;
    PodPhase last_phase = PodPhase::pending;  // of the last pod that went terminal
    std::int64_t pods_open = 0;               // of the job's pods: those that have not ended
    Duration time_max;                        // 0: no limit
    Duration time_expected;                   // by its user; 0: unknown
    bool is_long = false;                     // predicted so when it was last placed
    bool nears_wait_target = false;           // wait_target.hpp
    Lateness lateness;  // when it waited last; where pools go by when work is due

    // What the two times mean; other code should ask for it.
    [[nodiscard]] RunPhase phase() const {
        if (is_of_earlier_run(started_at))
            return earlier_runs_until.happened() ? RunPhase::over : RunPhase::unknown;
        return RunPhase::under_way;
    }
    // A pod that started then, or never.
    [[nodiscard]] bool is_of_earlier_run(Instant started) const {
        return started <= earlier_runs_until;
    }
};

}  // namespace gpuctl
