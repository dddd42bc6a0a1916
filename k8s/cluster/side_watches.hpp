#pragma once
// Watches besides those of pods and nodes: the objects of submitted jobs, claims and volumes, and
// kinds that this API server may not have, found by discovery: PodGroups of several dialects,
// JobSets, DeviceClasses.
//
// Owner: KubernetesCluster, whose task group runs the tasks that start() spawns. Thread: the
// loop's.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aio/task_group.hpp"
#include "k8s/cluster/kubernetes_cluster_feeds.hpp"
#include "k8s/convert/convert_workload.hpp"
#include "k8s/watch/discovery.hpp"
#include "k8s/watch/volumes.hpp"

namespace gpuctl::k8s {

struct SideWatchSettings {
    LabelKeys labels;
    ReadSpec read_spec;
    std::chrono::milliseconds rediscover{60'000};
    std::uint64_t seed = 1;  // base; each informer has its own
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
    void add_kinds(const OptionalKinds& kinds);
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
    std::vector<std::string> dialects_;  // groups of PodGroups that are watched
    bool discovered_ = false;
    std::string discovery_error_;
};

}  // namespace gpuctl::k8s
