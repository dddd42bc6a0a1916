#pragma once
// A real Kubernetes as the daemon's cluster (ports/cluster.hpp): informers deliver events, effects
// become API calls.
//
//   start:     discover PodGroup dialects, list and watch pods, nodes, groups -> CacheSynced
//   lease:     acquired -> if another process led before: wait until its writes are over,
//              then list everything again -> LeadershipChanged{true}; lost -> {false} at once
//   hand over: no new effects -> those in flight finish -> lease released
//   stop:      hand over, if not done -> the rest is cancelled
//
// The first lists wait for the first answer about the lease: a process that acquires it at once
// then has lists that began after the term before ended, and need not list again.
//
// Thread: the loop's. Owned by the composition root; stop() must have ended before destruction.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "k8s/client/client.hpp"
#include "k8s/convert/convert_workload.hpp"
#include "k8s/lease/lease_keeper.hpp"
#include "k8s/watch/informer.hpp"
#include "k8s/workload/pod_defaults.hpp"
#include "k8s/write/binder.hpp"
#include "k8s/write/event_recorder.hpp"
#include "k8s/write/status_writer.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::k8s {

struct KubernetesSettings {
    std::string kubeconfig;  // empty: in-cluster configuration
    std::string context;     // empty: current-context
    std::string scheduler_name = "gpuctl";
    std::string label_prefix = "runwhere.ai";
    TopologyKeys topology_labels;
    std::vector<std::string> unhealthy_conditions;
    std::int32_t gpu_replicas = 1;  // of a shared GPU, where no label has the count
    std::vector<PodDefaults> pod_defaults;
    std::string version = "0";
    bool lease_enabled = true;
    // An empty identity is derived from `pod`.
    LeaseSettings lease;
    PodIdentity pod;
    std::size_t binds_in_flight_max = 64;
    std::chrono::milliseconds bind_timeout{5'000};
    bool failure_events = true;
    bool success_events = true;
    std::int64_t failure_events_per_second = 20;
    std::int64_t success_events_per_second = 5;
    std::int64_t conditions_per_second = 20;
    std::chrono::milliseconds rediscover{60'000};  // for PodGroup kinds installed later
    std::uint64_t seed = 1;
    ReadSpec read_spec;  // empty: workloads whose job is not in the journal are ignored
    RefusalNotice::Say on_condition_refused;
    RefusalNotice::Say on_event_refused;
    std::function<void()> on_no_policy_kinds;
    std::function<void(const std::string& node, const std::string& had, const std::string& pool)>
        on_pool_label_restored;
};

// Monotonic counters for metrics; read on the loop thread.
struct KubernetesFigures {
    Client::Figures client;
    Informer::Figures pods;
    Informer::Figures nodes;
    EventRecorder::Figures events;
    LeaseKeeper::View lease;
};

class KubernetesCluster : public ports::Cluster {
public:
    // Reads the configuration and its files; opens no connection yet.
    static Result<std::unique_ptr<KubernetesCluster>> create(aio::Loop& loop,
                                                             KubernetesSettings settings);
    ~KubernetesCluster() override;

    void start(ports::EventSink& sink) override;
    void carry_out(const Effect& effect) override;
    [[nodiscard]] std::vector<ports::HealthLine> health() const override;
    [[nodiscard]] ports::LogSource& logs() override;
    [[nodiscard]] ports::SessionSource* sessions() override;
    [[nodiscard]] ports::NodePools* node_pools() override;
    [[nodiscard]] ports::PolicyObjectPort* policy_objects() override;
    aio::Task<Result<std::string>> cluster_id(aio::Deadline deadline) override;
    aio::Task<Result<void>> try_create(JobRecord job, Epoch epoch) override;
    aio::Task<Result<void>> check_namespace(ports::NamespaceQuestion question,
                                            aio::Deadline deadline) override;
    aio::Task<Result<ports::ClusterEvents>> events(std::string namespace_name,
                                                   aio::Deadline deadline) override;
    aio::Task<Result<ports::MigratedLabels>> migrate_labels(ports::LabelMigration order,
                                                            aio::Deadline deadline) override;
    aio::Task<Result<std::string>> controller_trouble(ObjectKey job,
                                                      aio::Deadline deadline) override;
    aio::Task<Result<ports::Orphans>> remove_orphans(ObjectKey job, bool force,
                                                     Epoch epoch) override;
    aio::Task<Result<std::int32_t>> node_port(ObjectKey job, aio::Deadline deadline) override;
    aio::Task<void> hand_over(aio::Deadline deadline) override;
    aio::Task<bool> stop(aio::Deadline deadline) override;

    [[nodiscard]] KubernetesFigures figures() const;

private:
    struct Parts;
    explicit KubernetesCluster(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace gpuctl::k8s
