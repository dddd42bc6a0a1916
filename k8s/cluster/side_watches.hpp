#pragma once
// Watches besides those of pods and nodes: the objects of submitted jobs, claims and volumes, and
// kinds that this API server may not have, found by discovery: PodGroups of several dialects,
// JobSets, DeviceClasses, ComputePools and Queues; and the quotas and namespaces that are ours.
//
// Owner: KubernetesCluster, whose task group runs the tasks that start() spawns. Thread: the
// loop's.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aio/task_group.hpp"
#include "k8s/cluster/kubernetes_cluster_feeds.hpp"
#include "k8s/convert/convert_workload.hpp"
#include "k8s/policy/policy_feed.hpp"
#include "k8s/watch/discovery.hpp"
#include "k8s/watch/volumes.hpp"

namespace gpuctl::k8s {

struct SideWatchSettings {
    LabelKeys labels;
    ReadSpec read_spec;
    std::chrono::milliseconds rediscover{60'000};
    std::uint64_t seed = 1;                    // base; each informer has its own
    std::function<void()> on_policy_change;    // an object of the policy was shown
    std::function<void()> on_no_policy_kinds;  // config/crds.yaml is not applied; called once
};

class SideWatches {
public:
    // `on_synced`: after each complete list, and when discovery has ended for the first time.
    SideWatches(aio::Loop& loop, Client& client, aio::TaskGroup& group, Outbox& outbox,
                Volumes& volumes, SideWatchSettings settings, Feed::OnSynced on_synced);
    SideWatches(const SideWatches&) = delete;
    SideWatches& operator=(const SideWatches&) = delete;

    void start();
    // All claims and volumes are reported.
    [[nodiscard]] bool are_volumes_listed() const;
    [[nodiscard]] bool is_listed() const;  // everything
    void try_now();
    [[nodiscard]] std::vector<std::string> errors() const;
    // Null: the cluster does not have the kind.
    [[nodiscard]] const PolicyFeed* policy(PolicyKind kind) const {
        return policy_.at(static_cast<std::size_t>(kind));
    }
    // The object that was made for this job; empty: there is none.
    [[nodiscard]] std::string uid_of(const ObjectKey& job) const;

private:
    struct Watch {
        std::string what;  // the path
        std::unique_ptr<Feed> feed;
        std::unique_ptr<Informer> informer;
        [[nodiscard]] bool is_listed() const { return feed->lists() > 0; }
    };
    Watch& watch(std::string path, std::unique_ptr<Feed> feed, std::string label_selector,
                 bool optional);
    [[nodiscard]] bool is_watched(std::string_view path) const;
    Watch& watch_policy(PolicyKind kind);
    void add_kinds(const OptionalKinds& kinds);
    void add_policy_kinds(bool are_served);
    aio::Task<void> discover();

    aio::Loop& loop_;
    Client& client_;
    aio::TaskGroup& group_;
    Outbox& outbox_;
    SideWatchSettings settings_;
    Feed::OnSynced on_synced_;
    std::vector<Watch> watches_;
    std::vector<const WorkloadFeed*> workloads_;
    std::vector<const Feed*> volumes_;
    std::array<const PolicyFeed*, 4> policy_{};  // by kind
    bool said_no_policy_kinds_ = false;
    std::vector<std::string> dialects_;  // groups of PodGroups that are watched
    bool discovered_ = false;
    std::string discovery_error_;
};

}  // namespace gpuctl::k8s
