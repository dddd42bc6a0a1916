#pragma once
// How the virtual cluster behaves. The durations of a pod are drawn from `seed` and the pod's uid,
// so that a restarted or replayed cluster draws the same numbers again (docs/adr/0007).

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "scheduler/base/time.hpp"
#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl::sim {

// Chances in thousandths. Each is decided by the seed and the number of the effect or pod.
struct Faults {
    std::int64_t bind_failed_per_mille = 0;      // the API server answers 500
    std::int64_t bind_unanswered_per_mille = 0;  // bound, but answered much later
    std::int64_t create_failed_per_mille = 0;    // of a workload, may be tried again
    std::int64_t delete_failed_per_mille = 0;    // of a pod, may be tried again
    std::int64_t eviction_refused_per_mille =
        0;  // by a disruption budget; an eighth of these refusals is permanent
    std::int64_t container_failed_per_mille = 0;  // it exits with an error at some time of its run
    std::int64_t bind_refused_per_mille =
        0;  // temporarily, as by missing rights or an admission policy
};
BOOST_DESCRIBE_STRUCT(Faults, (),
                      (bind_failed_per_mille, bind_unanswered_per_mille, create_failed_per_mille,
                       delete_failed_per_mille, eviction_refused_per_mille,
                       container_failed_per_mille, bind_refused_per_mille))

struct Settings {
    std::uint64_t seed = 1;
    std::string label_prefix = "runwhere.ai";
    Duration api_latency_min{1};  // from an effect to its outcome
    Duration api_latency_max{4};
    Duration answer_late{5'000};       // see Faults::bind_unanswered_per_mille
    Duration image_pull{800};          // median; drawn from half to double
    Duration container_start{400};     // likewise
    Duration container_stop_max{500};  // from SIGTERM to the end
    Duration training_run_time{30'000};
    Duration eviction_after{300'000};  // of pods on a lost node (the default toleration)
    Duration orphan_removal{1'000};    // of pods whose node object is gone
    Duration job_retry_delay{10'000};  // of the Job controller; doubles up to six minutes
    Duration crash_backoff{10'000};    // of the kubelet; doubles
    Duration crash_backoff_maximum{300'000};
    std::int32_t backoff_limit = 3;                 // failed pods of a training job before it fails
    Duration finished_job_kept = kFinishedJobKept;  // then its object is deleted; 0: never
    // Deletes the details of finished jobs that the engine summarizes: no other user needs them.
    bool drops_details = false;
    Duration log_interval{1'000};
    Faults faults;
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (seed, label_prefix, api_latency_min, api_latency_max, answer_late,
                       image_pull, container_start, container_stop_max, training_run_time,
                       eviction_after, orphan_removal, job_retry_delay, crash_backoff,
                       crash_backoff_maximum, backoff_limit, finished_job_kept, drops_details,
                       log_interval, faults))

}  // namespace gpuctl::sim
