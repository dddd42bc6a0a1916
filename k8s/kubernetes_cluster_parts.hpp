#pragma once
// What a KubernetesCluster is made of; included by its own sources only.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "k8s/evictor.hpp"
#include "k8s/kubernetes_cluster.hpp"
#include "k8s/kubernetes_cluster_feeds.hpp"
#include "k8s/log_stream.hpp"
#include "k8s/resizer.hpp"
#include "k8s/server_pulse.hpp"
#include "k8s/side_watches.hpp"
#include "k8s/workload_maker.hpp"

namespace gpuctl::k8s {

// Without a lease there is one daemon by agreement, and its term never ends.
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
    void tell_bound(const std::string& uid);
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
    ServerPulse pulse;
    Outbox outbox;
    StatusWriter writer;
    EventRecorder recorder;
    Volumes volumes;
    PodFeed pod_feed;
    NodeFeed node_feed;
    Informer pods;
    Informer nodes;
    SideWatches beside;
    LeaseKeeper keeper;
    Binder binder;
    WorkloadMaker maker;
    Evictor evictor;
    Resizer resizer;
    KubernetesLogs logs;

    bool synced_told = false;
    bool listing = false;  // the first lists have begun
    bool stopping = false;
    bool writes_ended = false;  // after `stopping`
    std::optional<Epoch> term;  // we hold the lease
    bool term_told = false;     // and the engine knows
};

}  // namespace gpuctl::k8s
