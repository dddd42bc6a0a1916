#pragma once
// Environment variables with which the author of a job controls its virtual containers, for tests:
//
//   GPUCTL_SIM_RUN_TIME=20s        how long the container runs (500ms, 20s, 15m, 1h30m, 2d)
//   GPUCTL_SIM_OUTCOME=succeed     exits 0 (default)
//                      fail        exits 1 at the end of its run time
//                      crashloop   exits 1 soon after each start
//                      image-pull  its image cannot be pulled
//   GPUCTL_SIM_IMAGE_PULL=2s       how long its image is pulled
//   GPUCTL_SIM_LOG_INTERVAL=100ms  from one log line to the next (1ms to 1h)
//   GPUCTL_SIM_LOG_BURST=10        lines at each of these times (1 to 1000)
//   GPUCTL_SIM_PROGRESS_BAR=30s    redraws one line with carriage returns this long before the log
//                                  continues
//
// Without GPUCTL_SIM_RUN_TIME the commands `sleep SECONDS`, `true` and `false` act as usual;
// otherwise job.expectedRunTime counts, then Settings::training_run_time. Only containers of
// training jobs end by themselves, unless one of these variables says otherwise. Invalid values are
// ignored and reported in the pod's log.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "sim/settings.hpp"

namespace gpuctl::sim {

enum class Outcome : std::uint8_t { succeed, fail, crashloop, image_pull };

struct Steering {
    std::optional<Duration> run_time;  // absent: runs until it is stopped
    Outcome outcome = Outcome::succeed;
    std::optional<Duration> image_pull;
    Duration log_interval{1'000};
    std::int64_t log_burst = 1;
    Duration progress_bar{0};
    std::vector<std::string> complaints;  // sentences about values that were ignored
};

Steering steering_of(const JobSpec& spec, const Settings& settings);

}  // namespace gpuctl::sim
