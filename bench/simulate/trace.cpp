#include "bench/simulate/trace.hpp"

#include <cstdio>
#include <string>

#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {
namespace {

template <typename... F>
struct Overload : F... {
    using F::operator()...;
};

std::string number(EffectId id) { return "#" + std::to_string(static_cast<std::uint64_t>(id)); }

std::string describe(const PodFacts& pod) {
    constexpr std::string_view phases[] = {"pending", "running", "succeeded", "failed"};
    return to_string(pod.key) + " " + std::string{phases[static_cast<std::size_t>(pod.phase)]} +
           (pod.node.empty() ? "" : " on " + pod.node) + (pod.terminating ? " terminating" : "");
}

std::string describe(const Event& event) {
    constexpr std::string_view results[] = {"bound", "elsewhere", "gone", "refused", "failed"};
    return std::visit(
        Overload{
            [](const NodeObserved& e) {
                return "node " + e.node.name + (e.node.unschedulable ? " cordoned" : "") +
                       (e.node.ready ? "" : " not ready");
            },
            [](const NodeRemoved& e) { return "node " + e.name + " removed"; },
            [](const PodObserved& e) { return "pod " + describe(e.pod); },
            [](const PodRemoved& e) { return "pod " + e.uid + " removed"; },
            [](const GangObserved& e) { return "gang " + to_string(e.key); },
            [](const GangRemoved& e) { return "gang " + to_string(e.key) + " removed"; },
            [](const CacheSynced&) { return std::string{"synced"}; },
            [](const JobSubmitted& e) { return "submitted " + to_string(e.job.spec.key); },
            [](const JobDeleteRequested& e) { return "delete " + to_string(e.key); },
            [](const PolicyChanged&) { return std::string{"policy changed"}; },
            [&](const BindOutcome& e) {
                return "answer " + number(e.effect) + " " +
                       std::string{results[static_cast<std::size_t>(e.result)]} + " " + e.uid;
            },
            [](const PodDeleteOutcome& e) {
                return "answer " + number(e.effect) + (e.deleted ? " deleted" : " not deleted");
            },
            [](const WorkloadOutcome& e) {
                return "answer " + number(e.effect) + (e.done ? " done " : " failed ") +
                       to_string(e.key);
            },
            [](const LeadershipChanged& e) {
                return std::string{e.leading ? "leads, epoch " : "does not lead, epoch "} +
                       std::to_string(static_cast<std::uint64_t>(e.epoch));
            },
            [](const WokeUp&) { return std::string{"woke up"}; },
            [](const Plan&) { return std::string{"plan"}; },
            [](const WorkloadObserved& e) {
                return "workload " + to_string(e.workload.key) + " observed";
            },
            [](const WorkloadRemoved& e) { return "workload " + to_string(e.key) + " removed"; },
            [](const JobAdopted& e) { return "adopted " + to_string(e.job.spec.key); }},
        event);
}

std::string describe(const Effect& effect) {
    return std::visit(
        Overload{[](const BindPod& e) {
                     return "bind " + number(e.id) + " " + to_string(e.pod.key) + " to " + e.node +
                            " (" + e.pod.uid + ")";
                 },
                 [](const DeletePod& e) {
                     return "delete pod " + number(e.id) + " " + to_string(e.pod.key);
                 },
                 [](const CreateWorkload& e) {
                     return "create " + number(e.id) + " " + to_string(e.job.spec.key);
                 },
                 [](const DeleteWorkload& e) {
                     return "delete " + number(e.id) + " " + to_string(e.key);
                 },
                 [](const ReportPending& e) {
                     return "tell " + to_string(e.job) + ": " + e.explanation.sentence;
                 },
                 [](const ReportStarted& e) { return "tell " + to_string(e.job) + ": started"; },
                 [](const WakeAt& e) { return "wake at " + std::to_string(e.at.ms()); }},
        effect);
}

}  // namespace

void trace_seed(std::uint64_t seed, int moments) {
    const auto print = [](const Engine&, const Input& input, const std::vector<Effect>& effects) {
        std::printf("%6llu %lld %s\n",
                    static_cast<unsigned long long>(static_cast<std::uint64_t>(input.sequence)),
                    static_cast<long long>(input.now.ms()), describe(input.event).c_str());
        for (const Effect& effect : effects)
            std::printf("         -> %s\n", describe(effect).c_str());
    };
    const sim::Life life = sim::live_one(seed, moments, nullptr, print);
    for (const Violation& wrong : life.violations) {
        std::printf("VIOLATION of %s: %s\n", wrong.id.c_str(), wrong.what.c_str());
    }
}

}  // namespace gpuctl::bench
