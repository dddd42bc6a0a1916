#include "sim/decision_history.hpp"

#include <type_traits>

#include "scheduler/base/hash.hpp"

namespace gpuctl::sim {

void DecisionHistory::add(std::int64_t number) {
    hash_ = mix64(hash_ * 0x100000001b3ULL + static_cast<std::uint64_t>(number));
}

void DecisionHistory::add(std::string_view text) { hash_ = hash64(text, hash_); }

void DecisionHistory::add(const ObjectKey& key) {
    add(std::string_view{key.namespace_name});
    add(std::string_view{key.name});
}

void DecisionHistory::add_event(const Event& event) {
    add(static_cast<std::int64_t>(event.index()));
    std::visit(
        [this](const auto& one) {
            using Kind = std::decay_t<decltype(one)>;
            if constexpr (requires { one.effect; }) add(static_cast<std::int64_t>(one.effect));
            if constexpr (requires { one.uid; }) add(std::string_view{one.uid});
            if constexpr (requires { one.key; }) add(one.key);
            if constexpr (requires { one.result; }) add(static_cast<std::int64_t>(one.result));
            if constexpr (std::is_same_v<Kind, PodObserved>) {
                add(std::string_view{one.pod.uid});
                add(std::string_view{one.pod.node});
                add(static_cast<std::int64_t>(one.pod.phase));
                add(one.pod.terminating ? 1 : 0);
            } else if constexpr (std::is_same_v<Kind, NodeObserved>) {
                add(std::string_view{one.node.name});
            } else if constexpr (std::is_same_v<Kind, LeadershipChanged>) {
                add(one.leading ? 1 : 0);
            } else if constexpr (std::is_same_v<Kind, MetricsObserved>) {
                for (const JobSignal& signal : one.signals) {
                    add(signal.job);
                    add(static_cast<std::int64_t>(signal.kind));
                    add(signal.reading.milli ? 1 : 0);
                    add(signal.reading.milli.value_or(0));
                    add(signal.reading.observed_at.ms());
                }
            }
        },
        event);
}

void DecisionHistory::add_effect(const Effect& effect) {
    if (const auto* pending = std::get_if<ReportPending>(&effect)) {
        Reason& last = reported_[pending->job];
        if (last == pending->explanation.reason) return;
        last = pending->explanation.reason;
    }
    add(static_cast<std::int64_t>(effect.index()));
    std::visit(
        [this](const auto& one) {
            using Kind = std::decay_t<decltype(one)>;
            if constexpr (requires { one.id; }) add(static_cast<std::int64_t>(one.id));
            if constexpr (requires { one.epoch; }) add(static_cast<std::int64_t>(one.epoch));
            if constexpr (requires { one.pod; }) add(std::string_view{one.pod.uid});
            if constexpr (requires { one.key; }) add(one.key);
            if constexpr (requires { one.preemptor; }) add(one.preemptor);
            if constexpr (std::is_same_v<Kind, BindPod>) {
                add(std::string_view{one.node});
                add(one.gang_attempt);
                add(one.deadline.ms());
                add(one.gpu_device);
            } else if constexpr (std::is_same_v<Kind, CreateWorkload>) {
                add(std::string_view{one.job->uid});
                add(one.deadline.ms());
            } else if constexpr (std::is_same_v<Kind, DeleteWorkload>) {
                add(one.force ? 1 : 0);
            } else if constexpr (std::is_same_v<Kind, ReportPending>) {
                add(one.job);
                add(static_cast<std::int64_t>(one.explanation.reason));
            } else if constexpr (std::is_same_v<Kind, ReportStarted>) {
                add(one.job);
                for (const std::string& node : one.nodes) add(std::string_view{node});
                add(one.waited.ms());
            } else if constexpr (std::is_same_v<Kind, WakeAt>) {
                add(one.at.ms());
            } else if constexpr (std::is_same_v<Kind, EvictPod>) {
                add(one.grace.ms());
            } else if constexpr (std::is_same_v<Kind, ResizeWorkload>) {
                add(one.from);
                add(one.to);
            } else if constexpr (std::is_same_v<Kind, DropDetails>) {
                add(one.job);
                for (const std::string& uid : one.pods) add(std::string_view{uid});
            } else if constexpr (std::is_same_v<Kind, UpdateWorkload>) {
                add(std::string_view{one.job_uid});
                add(std::string_view{one.job->uid});
                add(one.paused ? 1 : 0);
                add(one.job->spec.replicas_max);
            }
        },
        effect);
}

void DecisionHistory::add(const Input& input, std::span<const Effect> effects) {
    add(input.now.ms());
    add(static_cast<std::int64_t>(input.seed));
    add_event(input.event);
    for (const Effect& effect : effects) add_effect(effect);
}

}  // namespace gpuctl::sim
