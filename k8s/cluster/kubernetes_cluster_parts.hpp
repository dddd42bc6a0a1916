#pragma once
// The parts of a KubernetesCluster; included by its own sources only.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "k8s/client/log_stream.hpp"
#include "k8s/client/pod_session.hpp"
#include "k8s/cluster/cluster_events.hpp"
#include "k8s/cluster/kubernetes_cluster.hpp"
#include "k8s/cluster/kubernetes_cluster_feeds.hpp"
#include "k8s/cluster/server_probe.hpp"
#include "k8s/cluster/side_watches.hpp"
#include "k8s/policy/policy_objects.hpp"
#include "k8s/write/evictor.hpp"
#include "k8s/write/node_writer.hpp"
#include "k8s/write/resizer.hpp"
#include "k8s/write/workload_maker.hpp"

namespace gpuctl::k8s {

// Without a lease there is one daemon by configuration, and its term never ends.
struct OpenFence : WriteFence {
    [[nodiscard]] bool may_write(Epoch /*epoch*/) const override { return true; }
};

InformerSettings informer_settings(std::string path, std::uint64_t seed);

struct KubernetesCluster::Parts {
    Parts(aio::Loop& on, KubernetesSettings how, std::unique_ptr<Client> with);

    void on_synced();
    void on_return();
    void on_lease(bool leading, Epoch epoch);
    void begin_term(Epoch epoch);
    [[nodiscard]] bool all_synced() const;
    void report_bound(const std::string& uid);
    [[nodiscard]] bool in_term(Epoch epoch) const { return term == epoch; }

    aio::Task<void> watch_all();
    [[nodiscard]] std::chrono::milliseconds wait_for_writes() const;
    aio::Task<void> take_over(Epoch epoch, bool lists_are_to_come);
    aio::Task<bool> wait_for_lists(std::uint64_t pod_lists, std::uint64_t node_lists, Epoch epoch);

    aio::Loop& loop;
    KubernetesSettings settings;
    LabelKeys labels;
    std::unique_ptr<Client> client;
    OpenFence open_fence;
    aio::TaskGroup group;
    aio::Signal synced_or_term;
    ServerProbe probe;
    Outbox outbox;
    StatusWriter writer;
    EventRecorder recorder;
    Volumes volumes;
    PodFeed pod_feed;
    NodeFeed node_feed;
    Informer pods;
    Informer nodes;
    SideWatches side_watches;
    KubernetesPolicy policy;
    LeaseKeeper keeper;
    Binder binder;
    WorkloadMaker maker;
    Evictor evictor;
    Resizer resizer;
    NodeWriter node_writer;
    KubernetesLogs logs;
    KubernetesSessions sessions;

    EventCache events_read;
    bool synced_reported = false;
    bool listing = false;  // the first lists have started
    bool stopping = false;
    bool writes_ended = false;   // after `stopping`
    std::optional<Epoch> term;   // set while we hold the lease
    bool term_reported = false;  // the engine has the event
};

}  // namespace gpuctl::k8s
