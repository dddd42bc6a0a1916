#include "scheduler/scale/scale.hpp"

#include <algorithm>

namespace gpuctl::scale {
namespace {

const SignalReading* find_reading(const ScaleInput& input, SignalKind kind) {
    const auto found = std::find_if(input.signals.begin(), input.signals.end(),
                                    [kind](const ObservedSignal& one) { return one.kind == kind; });
    return found == input.signals.end() ? nullptr : &found->reading;
}

}  // namespace

std::optional<ScaleProposal> propose(const ScaleInput& input, std::span<const ScaleRule> rules) {
    if (input.replicas_min > input.replicas_max) return std::nullopt;
    std::optional<std::int64_t> most;
    SignalKind because{};
    bool are_all_known = true;
    for (const ScaleRule& rule : rules) {
        const SignalReading* reading = find_reading(input, rule.signal);
        are_all_known = are_all_known && reading != nullptr && reading->milli.has_value();
        if (reading == nullptr) continue;
        const std::int64_t wanted = rule.wanted(input, *reading).value_or(input.replicas);
        if (most && wanted <= *most) continue;
        most = wanted;
        because = rule.signal;
    }
    if (!most) return std::nullopt;
    const std::int64_t low = input.replicas_min;
    const std::int64_t high = input.replicas_max;
    const auto replicas = static_cast<std::int32_t>(std::clamp(*most, low, high));
    const bool scales_in = replicas < input.replicas;
    if (replicas == input.replicas || (scales_in && !are_all_known)) return std::nullopt;
    return ScaleProposal{input.job, replicas, because};
}

}  // namespace gpuctl::scale
