#pragma once
// From signals of a job to the number of its replicas. All functions are pure and make proposals,
// which the caller may accept or not. A rule computes how many replicas one signal calls for;
// propose() gives every rule the same guarantees:
//
//   - the same input gives the same proposal;
//   - a rule is evaluated only if its signal was observed: no signal, no proposal;
//   - while the signal of any rule is missing or was never observed, nothing is scaled in;
//   - if there are several rules, the one with the most replicas decides;
//   - a proposal is between the minimum and the maximum of the job and differs from its size.
//
// The third and fourth follow the Horizontal Pod Autoscaler of Kubernetes, which takes the largest
// of the replica counts of its metrics and skips a scale-in if one of them has no value.
//
// No rule exists yet, and none can be configured, so nothing is proposed.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/signal.hpp"

namespace gpuctl::scale {

struct ObservedSignal {
    SignalKind kind{};
    SignalReading reading;
};

// The known facts about one job.
struct ScaleInput {
    ObjectKey job;
    std::int32_t replicas = 0;  // number wanted now
    std::int32_t replicas_min = 0;
    std::int32_t replicas_max = 0;
    // by kind, each kind once; no element if it was never observed
    std::vector<ObservedSignal> signals;
    Instant now;
};

struct ScaleProposal {
    ObjectKey job;
    std::int32_t replicas = 0;
    SignalKind because{};  // kind of the signal that decided
    friend auto operator<=>(const ScaleProposal&, const ScaleProposal&) = default;
};

struct ScaleRule {
    SignalKind signal{};
    // The number of replicas that this reading calls for; absent: the present number. The function
    // must not depend on a clock, on earlier calls or on random numbers. The reading may be
    // missing: then only a larger number than the present one counts.
    std::optional<std::int64_t> (*wanted)(const ScaleInput& input,
                                          const SignalReading& reading) = nullptr;
};

[[nodiscard]] std::optional<ScaleProposal> propose(const ScaleInput& input,
                                                   std::span<const ScaleRule> rules);

}  // namespace gpuctl::scale
