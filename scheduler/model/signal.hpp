#pragma once
// What a metrics source reports about a running job. Values are integers. A signal whose value the
// source does not have is reported as missing, which is not zero.

#include <boost/describe.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "scheduler/base/time.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

// Each signal is for all pods of the job together, over the window.
enum class SignalKind : std::uint8_t {
    requests_running,     // requests in progress, mean
    requests_waiting,     // requests accepted and not started, mean
    request_rate,         // requests completed per second
    request_latency,      // of requests, in seconds, 95th percentile
    time_to_first_token,  // in seconds, 95th percentile
    token_rate,           // tokens generated per second
    gpu_busy,             // GPUs that computed, mean: 1,000 thousandths are one GPU
    kv_cache_used         // part of the key-value cache in use: 1,000 thousandths are all of it
};
BOOST_DESCRIBE_ENUM(SignalKind, requests_running, requests_waiting, request_rate, request_latency,
                    time_to_first_token, token_rate, gpu_busy, kv_cache_used)
inline constexpr std::size_t kSignalKinds = 8;

// One observation. "Never observed" means that there is no reading. "Missing" is a reading without
// a value: the source answered without a value, or did not answer.
struct SignalReading {
    std::optional<std::int64_t> milli;  // thousandths of the unit; absent: missing
    Duration window;  // the value is for this span of time, which ended at observed_at
    Instant observed_at;
    friend auto operator<=>(const SignalReading&, const SignalReading&) = default;
};
BOOST_DESCRIBE_STRUCT(SignalReading, (), (milli, window, observed_at))

struct JobSignal {
    ObjectKey job;
    SignalKind kind{};
    SignalReading reading;
    friend auto operator<=>(const JobSignal&, const JobSignal&) = default;
};
BOOST_DESCRIBE_STRUCT(JobSignal, (), (job, kind, reading))

// The limit of one event; an adapter reports further signals in further events.
inline constexpr std::size_t kSignalsPerEventMax = 256;

}  // namespace gpuctl
