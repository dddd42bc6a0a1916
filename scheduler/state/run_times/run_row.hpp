#pragma once
// The run of a job: when it began and ended, and how long it may and will take.

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

// How often the allowed time of a job was doubled until the job could keep to it, and when the next
// doubling is due (docs/adr/0018).
struct Lateness {
    std::int32_t doublings = 0;
    Instant again_at;  // while it waits; else never
    friend auto operator<=>(const Lateness&, const Lateness&) = default;
};
BOOST_DESCRIBE_STRUCT(Lateness, (), (doublings, again_at))

// The run, as recorded from pods that are gone; existing pods show the rest (present_run.hpp).
//
//   unknown ──a pod that ran is gone──> under_way ──its last pod is stopped, or fails──> over
//                                         ^                                               │
//                                         └────── a pod of the next run is gone ──────────┘
enum class RunPhase : std::uint8_t { unknown, under_way, over };

struct RunRow {
    Instant started_at;          // from pods that are gone (present_run.hpp)
    Instant earlier_runs_until;  // pods that started no later are of an earlier run
    Instant finished_at;
    PodPhase last_phase = PodPhase::pending;  // of the last pod that ended
    std::int64_t pods_open = 0;               // pods of the job that have not ended
    Duration time_max;                        // 0: no limit
    Duration time_expected;                   // stated by its user; 0: unknown
    bool is_long = false;                     // it was predicted to be long when it was last placed
    bool nears_wait_target = false;           // wait_target.hpp
    Lateness lateness;                        // as of its last wait; in pools with due times

    // What the two times mean; other code should ask for it.
    [[nodiscard]] RunPhase phase() const {
        if (is_of_earlier_run(started_at))
            return earlier_runs_until.happened() ? RunPhase::over : RunPhase::unknown;
        return RunPhase::under_way;
    }
    // `started`: the start of a pod, or never.
    [[nodiscard]] bool is_of_earlier_run(Instant started) const {
        return started <= earlier_runs_until;
    }
};

}  // namespace gpuctl
