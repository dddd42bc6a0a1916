#pragma once
// The engine and the nodes that plan_bench measures with.

#include <cstdint>
#include <string>
#include <utility>

#include "scheduler/engine/engine.hpp"

namespace gpuctl {

inline constexpr std::int64_t kGpusPerNode = 8;

struct Bench {
    // The number of nodes in a rack; gangs require one rack. 0: there are no racks.
    static inline std::int64_t nodes_in_rack = 0;
    static inline bool is_read = false;  // there is an index for readers
    Engine engine;
    EffectList effects;
    std::uint64_t sequence = 0;

    void send(Event event) {
        engine.step(Input{Sequence{++sequence}, Instant{1'000'000}, sequence, std::move(event)},
                    effects);
    }
    explicit Bench(std::int64_t nodes) : nodes_(nodes) {
        Policy policy;
        policy.plan_attempts_max = 1'000'000;
        send(PolicyChanged{policy});
        send(LeadershipChanged{true, Epoch{1}});
        for (std::int64_t i = 0; i < nodes; ++i) {
            NodeFacts node;
            node.name = "node-" + std::to_string(i);
            node.pool = kDefaultPool;
            node.allocatable.cpu = CpuMilli{128'000};
            node.allocatable.memory = Bytes{std::int64_t{1} << 40};
            node.allocatable.pods = 110;
            node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(kGpusPerNode)}};
            if (nodes_in_rack > 0) {
                node.topology.rack = "rack-" + std::to_string(i / nodes_in_rack);
            }
            send(NodeObserved{node});
        }
        send(CacheSynced{});
        if (is_read) (void)engine.listing();
    }
    // Fills all nodes with jobs that end by their limits, at different times.
    void fill() {
        const std::int64_t pods = nodes_ * kGpusPerNode;
        for (std::int64_t i = 0; i < pods; ++i) {
            PodFacts runs = pod(i, 1);
            runs.run_time_max = Duration::seconds(3'600 + i);
            send(PodObserved{runs});
        }
        effects.clear();
        send(Plan{});
        for (const Effect& effect : std::exchange(effects, {})) {
            const auto* bind = std::get_if<BindPod>(&effect);
            if (bind != nullptr) {
                send(BindOutcome{bind->id, bind->pod.uid, BindResult::bound, ""});
            }
        }
        send(Plan{});
        effects.clear();
    }
    static PodFacts pod(std::int64_t number, std::int64_t ranks) {
        PodFacts pod;
        pod.uid = "0190b0f0-0000-7000-8000-" + std::to_string(100'000'000'000 + number);
        pod.key = {"team-a", "pod-" + std::to_string(number)};
        pod.job = ranks == 1 ? pod.key.name : "gang-" + std::to_string(number / ranks);
        pod.ours = true;
        pod.gang = ranks > 1;
        pod.gang_min = ranks > 1 ? static_cast<std::int32_t>(ranks) : 0;
        pod.rank = static_cast<std::int32_t>(number % ranks);
        pod.created_at = Instant{1 + number};
        pod.request.cpu = CpuMilli{4'000};
        pod.request.memory = Bytes{std::int64_t{8} << 30};
        pod.request.pods = 1;
        pod.request.gpus = {{"nvidia.com/gpu", whole_gpus(1)}};
        if (nodes_in_rack > 0) pod.rules.topology.required = TopologyLevel::rack;
        return pod;
    }

private:
    std::int64_t nodes_;
};

}  // namespace gpuctl
