// Gangs of controllers that make many equal groups of pods from one template: one label in the
// template says that each group is a gang, and the controller's own labels identify the group of a
// pod.

#include <array>
#include <string>
#include <string_view>

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

struct GroupKey {
    std::string_view text;
    std::string_view MadeGroupParts::* to;
};

// LeaderWorkerSet: a group is a leader with its workers. JobSet: all jobs of one attempt. Training
// operator: all replicas of a job. KubeRay: a cluster, or a replica of a group whose replicas have
// several hosts.
constexpr auto kGroupLabels = std::to_array<GroupKey>({
    {"leaderworkerset.sigs.k8s.io/name", &MadeGroupParts::leader_worker_set},
    {"leaderworkerset.sigs.k8s.io/group-index", &MadeGroupParts::lws_group},
    {"leaderworkerset.sigs.k8s.io/worker-index", &MadeGroupParts::lws_worker},
    {"jobset.sigs.k8s.io/jobset-name", &MadeGroupParts::job_set},
    {"jobset.sigs.k8s.io/restart-attempt", &MadeGroupParts::job_set_attempt},
    {"training.kubeflow.org/job-name", &MadeGroupParts::training_job},
    {"training.kubeflow.org/operator-name", &MadeGroupParts::training_operator},
    {"ray.io/cluster", &MadeGroupParts::ray_cluster},
    {"ray.io/worker-group-replica-name", &MadeGroupParts::ray_replica},
});
constexpr auto kGroupAnnotations = std::to_array<GroupKey>({
    {"leaderworkerset.sigs.k8s.io/size", &MadeGroupParts::lws_size},
});

template <typename Keys>
bool read_group_key(const Keys& keys, std::string_view key, std::string_view value,
                    MadeGroupParts& parts) {
    for (const GroupKey& known : keys) {
        if (known.text != key) continue;
        parts.*known.to = value;
        return true;
    }
    return false;
}

// The pods' own gang name separates two gangs of one controller; no Kubernetes name has a colon.
std::string made_gang(std::string_view kind, std::string_view said, std::string_view name) {
    return std::string{kMadeGangPrefix} + std::string{kind} + "." + std::string{said} + ":" +
           std::string{name};
}

}  // namespace

bool read_made_group_label(std::string_view key, std::string_view value, MadeGroupParts& parts) {
    return read_group_key(kGroupLabels, key, value, parts);
}

bool read_made_group_annotation(std::string_view key, std::string_view value,
                                MadeGroupParts& parts) {
    return read_group_key(kGroupAnnotations, key, value, parts);
}

// Pods of an earlier attempt are not ranks of the next.
std::string job_set_gang(std::string_view said, std::string_view name, std::string_view attempt) {
    const bool is_first = attempt.empty() || attempt == "0";
    std::string all{said};
    if (!is_first) all += "." + std::string{attempt};
    return made_gang("JobSet", all, name);
}

std::string made_gang_of(const MadeGroupParts& parts, std::string_view said) {
    if (!parts.leader_worker_set.empty() && !parts.lws_group.empty()) {
        const std::string group{parts.lws_group};
        return made_gang("LeaderWorkerSet", said,
                         std::string{parts.leader_worker_set} + "-" + group);
    }
    if (!parts.job_set.empty()) return job_set_gang(said, parts.job_set, parts.job_set_attempt);
    if (!parts.training_job.empty()) {  // jobs of two kinds may have one name
        std::string all{said};
        if (!parts.training_operator.empty()) all += "." + std::string{parts.training_operator};
        return made_gang("TrainingJob", all, parts.training_job);
    }
    if (!parts.ray_replica.empty()) return made_gang("RayReplica", said, parts.ray_replica);
    if (!parts.ray_cluster.empty()) return made_gang("RayCluster", said, parts.ray_cluster);
    return {};
}

}  // namespace gpuctl::k8s
