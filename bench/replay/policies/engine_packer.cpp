#include "bench/replay/policies/engine_packer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "bench/replay/policies/trace_resources.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::replay {
namespace {

constexpr const char* kModelLabel = "model";
constexpr const char* kNoSuchModel = "a model that no node has";
constexpr std::int64_t kPodsPerNode = 100'000;  // the trace has no such limit
constexpr Instant kNow{1'000'000};

}  // namespace

EnginePacker::EnginePacker(const PackTrace& trace) : trace_(&trace), cards_(trace.nodes.size()) {
    gpuctl::Policy policy;              // the default policy
    policy.pods_reserved_per_node = 0;  // there are no DaemonSets here
    step(LeadershipChanged{true, Epoch{1}});
    step(PolicyChanged{policy});
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
        const PackNode& from = trace.nodes[i];
        NodeFacts node;
        node.name = std::to_string(i);
        node.pool = kDefaultPool;
        node.allocatable.cpu = from.cpu_free;
        node.allocatable.memory = from.memory_free;
        node.allocatable.pods = kPodsPerNode;
        if (from.gpus > 0) node.allocatable.gpus = {{kGpu, whole_gpus(from.gpus)}};
        for (std::size_t model = 0; model < trace.models.size(); ++model) {
            if (from.model != GpuModels{1} << model) continue;
            node.gpu_model = trace.models[model];
            node.labels[kModelLabel] = trace.models[model];
        }
        step(NodeObserved{node});
    }
    step(CacheSynced{});
}

void EnginePacker::step(Event event) {
    const Input input{Sequence{++sequence_}, kNow, sequence_, std::move(event)};
    const auto begin = std::chrono::steady_clock::now();
    engine_.step(input, effects_);
    effort_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

EngineEffort EnginePacker::effort() const {
    EngineEffort effort = effort_;
    effort.inputs = sequence_;
    effort.plans = engine_.figures().plans;
    effort.attempts = engine_.figures().attempts;
    return effort;
}

PodFacts EnginePacker::pod_of(const PackTask& task) const {
    PodFacts pod;
    pod.uid = std::to_string(tasks_);
    pod.key = {"openb", "task-" + pod.uid};
    pod.ours = true;
    pod.created_at = kNow;
    pod.request.cpu = task.cpu;
    pod.request.memory = task.memory;
    pod.request.pods = 1;
    if (task.gpus == 0) return pod;
    pod.request.gpus = {{kGpu, task.gpu_total()}};
    if (task.models == kAnyModel) return pod;
    SelectorRequirement wanted{kModelLabel, SelectorOperator::in, {}};
    for (std::size_t model = 0; model < trace_->models.size(); ++model) {
        if ((task.models & GpuModels{1} << model) != 0) {
            wanted.values.push_back(trace_->models[model]);
        }
    }
    if (wanted.values.empty()) wanted.values.emplace_back(kNoSuchModel);
    SelectorTerm term;
    term.labels.push_back(std::move(wanted));
    pod.rules.required_affinity = std::vector<SelectorTerm>{std::move(term)};
    return pod;
}

// A device that the engine opens is mapped to any completely idle card; tasks never end here.
std::int32_t EnginePacker::card_of(NodeIndex node, std::int32_t device, const Packing& world) {
    std::map<std::int32_t, std::int32_t>& cards = cards_[node.value()];
    if (const auto known = cards.find(device); known != cards.end()) return known->second;
    const auto& free = world.node(node).gpu_free_milli;
    const auto card = std::find(free.rbegin(), free.rend(), kGpuMilliPerGpu);
    GPUCTL_CHECK(card != free.rend(), "the engine opens a GPU where the world has none free");
    return cards[device] = static_cast<std::int32_t>(free.rend() - card) - 1;
}

std::optional<Spot> EnginePacker::choose(const PackTask& task, const Packing& world) {
    ++tasks_;
    const PodFacts pod = pod_of(task);
    const std::string uid = pod.uid;
    effects_.clear();
    step(PodObserved{pod});
    step(Plan{});
    std::optional<BindPod> bind;
    for (const Effect& effect : effects_) {
        if (const auto* found = std::get_if<BindPod>(&effect)) bind = *found;
    }
    effects_.clear();
    if (!bind) {
        step(PodRemoved{uid});  // the task is dropped, as in the paper
        return std::nullopt;
    }
    ++effort_.starts;
    step(BindOutcome{bind->id, uid, BindResult::bound, ""});
    const NodeIndex node{static_cast<std::uint32_t>(std::stoul(bind->node))};
    const bool is_part = is_part_of_gpu(task.gpu_total());
    GPUCTL_CHECK(is_part == (bind->gpu_device != kNoDevice),
                 "a bind names a device exactly for a part of a GPU");
    return Spot{node, is_part ? card_of(node, bind->gpu_device, world) : 0};
}

}  // namespace gpuctl::replay
