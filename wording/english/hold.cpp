// What keeps a job from being placed before any node is examined.

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

std::string whole_seconds(Duration length) {
    return std::to_string((length.ms() + 999) / 1000) + " s";
}

}  // namespace

std::string words(const fact::Waits& fact) {
    switch (fact.what) {
        case fact::WaitsFor::cluster_read:
            return "the cluster has not been read completely";
        case fact::WaitsFor::leadership:
            return "this gpuctld is not the leader: it is becoming the leader, or another gpuctld "
                   "leads (/readyz shows which)";
        case fact::WaitsFor::turn:
            return "nothing blocks it; the next scheduling cycle tries it";
        case fact::WaitsFor::other_ranks:
            return "its other ranks are being bound";
        case fact::WaitsFor::rollback:
            return "its gang is being rolled back";
    }
    return "";
}

std::string words(const fact::PoolUnknown& fact) {
    return "pool " + fact.pool + " does not exist; existing pools: " + list_of(fact.pools);
}

std::string words(const fact::QueueUnknown& fact) {
    return "queue " + fact.queue + " does not exist in pool " + fact.pool +
           "; existing queues: " + list_of(fact.queues);
}

std::string words(const fact::QueueHoldsQueues& fact) {
    return "queue " + fact.queue + " of pool " + fact.pool +
           " has sub-queues and takes no jobs; submit to one of: " + list_of(fact.queues);
}

// "it is paused and keeps 8 GPUs on n1; the room of 1 pod on n2 is lost with that node"
std::string words(const fact::Paused& fact) {
    std::string out = "it is paused";
    if (fact.releases) {
        out += " and keeps no GPUs";
    } else if (fact.nodes.empty()) {
        out += " and keeps no room: none of its pods had a node";
    } else {
        const bool has_gpus = fact.gpus > GpuMilli{};
        out += " and keeps " + (has_gpus ? amounts::gpus_noun(fact.gpus.value()) : "its room") +
               " on " + list_of(fact.nodes, fact.nodes_total);
    }
    if (fact.pods_lost > 0) {
        out += "; the room of " + std::to_string(fact.pods_lost) +
               (fact.pods_lost == 1 ? " pod" : " pods") + " is lost with " +
               list_of(fact.nodes_lost, fact.nodes_lost_total);
    }
    return out + "; gpuctl resume starts it again";
}

std::string words(const fact::FeatureUnsupported& fact) {
    return (fact.pod.empty() ? "it" : "its pod " + fact.pod) + " uses " + fact.feature +
           ", which is not supported";
}

// "8 GPUs on node-3 are earmarked for it; it waits for 2 pods to terminate (team-b/x-0,
// team-b/x-1), at most 30 s, and queues again after that"
std::string words(const fact::RoomNominated& fact) {
    const bool has_gpus = fact.gpus > GpuMilli{};
    const bool is_one = fact.gpus == whole_gpus(1) || fact.gpus == GpuMilli{};
    const std::string ends_in = whole_seconds(fact.ends_in);
    return (has_gpus ? amounts::gpus_noun(fact.gpus.value()) : "room") + " on " +
           list_of(fact.nodes, fact.nodes_total) + (is_one ? " is" : " are") +
           " earmarked for it; " +
           (fact.pods.empty() ? "the pods evicted for it are gone: it starts there within " +
                                    ends_in + ", or it queues again"
                              : "it waits for " + amounts::count(fact.pods_total, "pod", "pods") +
                                    " to terminate (" + list_of(fact.pods, fact.pods_total) +
                                    "), at most " + ends_in + ", and queues again after that");
}

std::string words(const fact::PodBoundElsewhere& fact) {
    return "pod " + fact.pod + " was bound by another scheduler";
}

std::string words(const fact::PodGone& fact) {
    return "pod " + fact.pod + " was deleted or replaced";
}

std::string words(const fact::BindRefused& fact) {
    return "binding pod " + fact.pod + " was refused (" + fact.message + "); next attempt in " +
           whole_seconds(fact.retry_in) + ", or when the pod changes";
}

std::string words(const fact::BindBackoff& fact) {
    return "binding failed " + amounts::count(fact.failures, "time", "times") +
           (fact.message.empty() ? "" : " (" + fact.message + ")") + "; next attempt in " +
           std::to_string(fact.retry_in.ms()) + " ms";
}

std::string words(const fact::EvictedBefore& fact) { return "; it was " + words_of(fact.why); }

std::string words(const fact::QueueIgnored& fact) {
    return "; queue " + fact.queue +
           " is ignored (its PodGroup or its pods name it for another scheduler): pool " +
           fact.pool +
           (fact.exists ? " takes no jobs in it, as it has sub-queues" : " has no such queue");
}

std::string words(const fact::ClusterMessage& fact) { return fact.message; }

std::string words(const fact::PodsMissing& fact) {
    switch (fact.cause) {
        case fact::PodsMissingCause::creating_workload:
            return "its workload is being created";
        case fact::PodsMissingCause::workload_refused:
            return "its workload object could not be created: " + fact.message;
        case fact::PodsMissingCause::suspended:
            return "its workload is suspended; no pod is created until it is resumed";
        case fact::PodsMissingCause::scaled_to_zero:
            return "it is scaled to 0 replicas";
        case fact::PodsMissingCause::controller_fails:
            return "its controller cannot create pods: " + fact.message;
        case fact::PodsMissingCause::last_pod_failed:
            return "its last pod failed; its controller has not created a new pod yet";
        case fact::PodsMissingCause::unknown:
            return "its controller has created no pod yet; see the events of its workload object";
    }
    return "";
}

}  // namespace gpuctl::wording::english
