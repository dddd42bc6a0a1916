#pragma once
// From signals of a job to the number of its replicas: pure proposals, which the caller may take up
// or not. A rule says how many replicas one signal asks for; propose() gives every rule the same
// guarantees:
//
//   - the same input gives the same proposal;
//   - a rule is asked only about a signal that was observed: no signal, no proposal;
//   - while the signal of any rule is missing or was never observed, nothing is scaled in;
//   - of several rules the one that asks for most decides;
//   - a proposal is between the minimum and the maximum of the job and differs from its size.
//
// The third and fourth follow the Horizontal Pod Autoscaler of Kubernetes, which takes the largest
// of the replica counts of its metrics and skips a scale-in if one of them has no value.
//
// No rule exists yet, and none can be configured: nothing is proposed.

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

// What is known of one job.
struct ScaleInput {
    ObjectKey job;
    std::int32_t replicas = 0;  // wanted now
    std::int32_t replicas_min = 0;
    std::int32_t replicas_max = 0;
    std::vector<ObservedSignal> signals;  // by kind, each once; never observed: no element
    Instant now;
};

struct ScaleProposal {
    ObjectKey job;
    std::int32_t replicas = 0;
    SignalKind because{};  // of the rule that decided
    friend auto operator<=>(const ScaleProposal&, const ScaleProposal&) = default;
};

struct ScaleRule {
    SignalKind signal{};
    // The replicas that this reading asks for; absent: as many as there are. Without clock, memory
    // or randomness. The reading may be missing: then only more replicas than there are count.
    std::optional<std::int64_t> (*wanted)(const ScaleInput& input,
                                          const SignalReading& reading) = nullptr;
};

[[nodiscard]] std::optional<ScaleProposal> propose(const ScaleInput& input,
                                                   std::span<const ScaleRule> rules);

}  // namespace gpuctl::scale
