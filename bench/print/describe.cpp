#include "bench/print/describe.hpp"

#include <cstddef>
#include <string_view>

#include "scheduler/listing/job_status.hpp"
#include "wording/wording.hpp"

namespace gpuctl::bench {
namespace {

template <typename... F>
struct Overload : F... {
    using F::operator()...;
};

std::string number(EffectId id) { return "#" + std::to_string(static_cast<std::uint64_t>(id)); }

std::string describe(const PodFacts& pod) {
    return to_string(pod.key) + " " + std::string{to_string(pod.phase)} +
           (pod.node.empty() ? "" : " on " + pod.node) + (pod.terminating ? " terminating" : "");
}

template <typename Result, std::size_t size>
std::string result_name(const std::string_view (&names)[size], Result result) {
    const auto at = static_cast<std::size_t>(result);
    return std::string{at < size ? names[at] : "unknown"};
}

std::string in_brackets(const std::string& message) {
    return message.empty() ? "" : " (" + message + ")";
}

std::string describe(const BindOutcome& e) {
    constexpr std::string_view names[] = {"bound", "elsewhere", "gone", "refused", "failed"};
    return "answer " + number(e.effect) + " " + result_name(names, e.result) + ", pod with uid " +
           e.uid + in_brackets(e.message);
}

std::string describe(const PodEvictOutcome& e) {
    constexpr std::string_view names[] = {"evicted", "gone", "disruption budget", "refused",
                                          "failed"};
    return "answer " + number(e.effect) + " " + result_name(names, e.result) + ", pod with uid " +
           e.uid + in_brackets(e.message);
}

std::string describe(const WorkloadResizeOutcome& e) {
    constexpr std::string_view names[] = {"resized", "has another size", "gone", "refused",
                                          "failed"};
    return "answer " + number(e.effect) + " " + result_name(names, e.result) + " " +
           to_string(e.key) + in_brackets(e.message);
}

std::string describe(const NodeChangeRequested& e) {
    return "request " + e.request + " to change node " + e.change.node;
}

std::string describe(const NodeChangeOutcome& e) {
    constexpr std::string_view names[] = {"changed", "refused", "failed"};
    return "answer " + number(e.effect) + " " + result_name(names, e.result) + " node " + e.node +
           in_brackets(e.message);
}

}  // namespace

std::string describe(const Event& event) {
    return std::visit(
        Overload{
            [](const NodeObserved& e) {
                return "node " + e.node.name + (e.node.unschedulable ? " cordoned" : "") +
                       (e.node.ready ? "" : " not ready");
            },
            [](const NodeRemoved& e) { return "node " + e.name + " removed"; },
            [](const PodObserved& e) { return "pod " + describe(e.pod); },
            [](const PodRemoved& e) { return "pod with uid " + e.uid + " removed"; },
            [](const GangObserved& e) {
                return "gang " + to_string(e.key) + " of " + std::to_string(e.size.ranks);
            },
            [](const GangRemoved& e) { return "gang " + to_string(e.key) + " removed"; },
            [](const CacheSynced&) { return std::string{"cluster read completely"}; },
            [](const JobSubmitted& e) {
                return "job " + to_string(e.job.spec.key) + " submitted, uid " + e.job.uid;
            },
            [](const JobDeleteRequested& e) {
                return "job " + to_string(e.key) + " to be deleted" + (e.force ? " by force" : "");
            },
            [](const PolicyChanged& e) {
                return "policy of " + std::to_string(e.policy.pools.size()) + " pools";
            },
            [](const BindOutcome& e) { return describe(e); },
            [](const PodDeleteOutcome& e) {
                return "answer " + number(e.effect) + (e.deleted ? " deleted" : " not deleted") +
                       ", pod with uid " + e.uid;
            },
            [](const WorkloadOutcome& e) {
                return "answer " + number(e.effect) + (e.done ? " done " : " failed ") +
                       to_string(e.key) + (e.message.empty() ? "" : " (" + e.message + ")");
            },
            [](const LeadershipChanged& e) {
                return std::string{e.leading ? "leading, epoch " : "not leading, epoch "} +
                       std::to_string(static_cast<std::uint64_t>(e.epoch));
            },
            [](const WokeUp&) { return std::string{"woke up"}; },
            [](const Plan&) { return std::string{"plan"}; },
            [](const WorkloadObserved& e) {
                return "workload " + to_string(e.workload.key) + " observed, " +
                       std::to_string(e.workload.replicas) + " replicas";
            },
            [](const WorkloadRemoved& e) { return "workload " + to_string(e.key) + " removed"; },
            [](const JobAdopted& e) { return "adopted " + to_string(e.job.spec.key); },
            [](const PodEvictOutcome& e) { return describe(e); },
            [](const WorkloadResizeOutcome& e) { return describe(e); },
            [](const DeviceClassObserved& e) {
                return "device class " + e.name + " observed" +
                       (e.resource.empty() ? "" : ", which serves " + e.resource);
            },
            [](const DeviceClassRemoved& e) { return "device class " + e.name + " removed"; },
            [](const MetricsObserved& e) {
                return std::to_string(e.signals.size()) + " signals of jobs observed";
            },
            [](const JobUpdated& e) {
                return std::string{to_string(e.change.kind)} + " job " + to_string(e.key) +
                       (e.change.kind == JobChangeKind::scale
                            ? " to " + std::to_string(e.change.replicas)
                            : "") +
                       (e.change.releases ? ", releasing its room" : "");
            },
            [](const PolicyObjectsChanged& e) {
                return "policy: " + std::to_string(e.put.size()) + " objects put, " +
                       std::to_string(e.gone.size()) + " deleted";
            },
            [](const NodeChangeRequested& e) { return describe(e); },
            [](const NodeChangeOutcome& e) { return describe(e); }},
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
                     return "create " + number(e.id) + " " + to_string(e.job->spec.key);
                 },
                 [](const DeleteWorkload& e) {
                     return "delete " + number(e.id) + " " + to_string(e.key);
                 },
                 [](const ReportPending& e) {
                     return "report " + to_string(e.job) + ": " + wording::sentence(e.explanation);
                 },
                 [](const ReportStarted& e) { return "report " + to_string(e.job) + ": started"; },
                 [](const WakeAt& e) { return "wake at " + std::to_string(e.at.ms()); },
                 [](const EvictPod& e) {
                     return "evict pod " + number(e.id) + " " + to_string(e.pod.key) + " for " +
                            (e.preemptor == ObjectKey{} ? "maintenance" : to_string(e.preemptor));
                 },
                 [](const ResizeWorkload& e) {
                     return "resize " + number(e.id) + " " + to_string(e.key) + " from " +
                            std::to_string(e.from) + " to " + std::to_string(e.to) + ": " +
                            wording::cause_text(e.why);
                 },
                 [](const DropDetails& e) { return "keep a summary of " + to_string(e.job); },
                 [](const UpdateWorkload& e) {
                     return "update " + number(e.id) + " " + to_string(e.job->spec.key) +
                            (e.paused ? ", paused" : "");
                 },
                 [](const ChangeNode& e) {
                     std::string out = "change " + number(e.id) + " node " + e.change.node;
                     for (const auto& [key, value] : e.change.set) out += " " + key + "=" + value;
                     for (const std::string& key : e.change.remove) out += " " + key + "-";
                     return out;
                 }},
        effect);
}

}  // namespace gpuctl::bench
