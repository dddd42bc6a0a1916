#pragma once
// The cluster as the daemon needs it. Two adapters carry out every effect: k8s/ (a real API server)
// and daemon/embedded (the virtual cluster of sim/).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "ports/event_sink.hpp"
#include "ports/logs.hpp"
#include "ports/policy_store.hpp"
#include "ports/sessions.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/effect.hpp"

namespace gpuctl::ports {

// One line of /readyz?verbose.
struct HealthLine {
    std::string name;  // "api-server", "cache", "lease"
    bool ok = false;
    std::string detail;
};

// What remove_orphans() has deleted.
struct Orphans {
    std::int64_t pods = 0;
    bool service = false;
    [[nodiscard]] bool any() const { return pods > 0 || service; }
};

// The namespace of a job that is to be created or changed.
struct NamespaceQuestion {
    std::string name;
    // It is `default`, or the policy or a job of ours names it.
    bool is_known = false;
    // Namespaces were made with gpuctl: then further names are none.
    bool are_made = false;
};

// What the kubelet or a controller reports about an object.
struct ClusterEvent {
    Instant first_at;
    Instant at;  // the last time
    bool warning = false;
    std::string reason;
    std::string from;  // the component
    std::string kind;  // of the object: Pod, Job, ReplicaSet ...
    ObjectKey object;
    std::string message;
    std::int64_t count = 1;
};

struct ClusterEvents {
    std::vector<ClusterEvent> list;
    bool is_cut = false;  // there are more than are read
};

// Labels with the prefixes of earlier products, on the objects of jobs.
struct LabelMigration {
    bool dry_run = false;
    bool removes_old = false;  // where the present label has the same value
    Epoch epoch;
};

struct MigratedLabel {
    std::string kind;  // of the object: Pod, Job ...
    ObjectKey object;
    std::string from;  // g8s.host/job-type
    std::string to;    // runwhere.ai/job-type
    std::string value;
    std::string action;  // add, added, present, differs, remove, removed, failed
    std::string message;
};

struct MigratedLabels {
    std::vector<MigratedLabel> list;
    bool is_cut = false;  // there are more objects than one call changes
};

class Cluster {
public:
    virtual ~Cluster() = default;

    // Begins to send events: first everything that exists, then CacheSynced, then changes.
    // Called once, after the journal was replayed.
    virtual void start(EventSink& sink) = 0;

    // Never blocks; the outcome comes to the sink as an event.
    virtual void carry_out(const Effect& effect) = 0;

    [[nodiscard]] virtual std::vector<HealthLine> health() const = 0;
    [[nodiscard]] virtual LogSource& logs() = 0;
    // Null where pods have no containers that a session could be with.
    [[nodiscard]] virtual SessionSource* sessions() { return nullptr; }
    // uid of kube-system, or the generated id of the embedded cluster; ties a journal to a cluster.
    virtual aio::Task<Result<std::string>> cluster_id(aio::Deadline deadline) = 0;

    // Whether the cluster would accept the job's objects, as far as a dry run can say: its
    // namespace, rights, quota, admission.
    virtual aio::Task<Result<void>> try_create(JobRecord job, Epoch epoch) = 0;

    // Whether jobs may be created in the namespace: it exists, is managed, is not being deleted.
    virtual aio::Task<Result<void>> check_namespace(NamespaceQuestion /*question*/,
                                                    aio::Deadline /*deadline*/) {
        co_return Result<void>{};
    }

    // What the kubelet and controllers report about objects of a namespace, or of all (empty). A
    // request to the cluster, so call it only when a user looks at events.
    virtual aio::Task<Result<ClusterEvents>> events(std::string /*namespace_name*/,
                                                    aio::Deadline /*deadline*/) {
        co_return ClusterEvents{};
    }

    // A cluster that no earlier product has used has none.
    virtual aio::Task<Result<MigratedLabels>> migrate_labels(LabelMigration /*order*/,
                                                             aio::Deadline /*deadline*/) {
        co_return MigratedLabels{};
    }

    // Why the controller of a submitted job makes no pods, in the cluster's words; empty: unknown.
    // Sends requests to the cluster, so call it only for one job that a user looks at.
    virtual aio::Task<Result<std::string>> controller_trouble(ObjectKey job,
                                                              aio::Deadline deadline) = 0;

    // Assigns nodes to pools; null: their pools are what their labels say.
    [[nodiscard]] virtual NodePools* node_pools() { return nullptr; }
    // Null: the cluster stores no objects of the policy; the journal does.
    [[nodiscard]] virtual PolicyObjectPort* policy_objects() { return nullptr; }

    // Deletes the pods and the Service that a job of this name has left behind, if its workload no
    // longer exists. A cluster whose workloads always take their pods along has none.
    virtual aio::Task<Result<Orphans>> remove_orphans(ObjectKey /*job*/, bool /*force*/,
                                                      Epoch /*epoch*/) {
        co_return Orphans{};
    }

    // The port of the nodes that leads to a submitted job's Service; 0: there is none (yet). A
    // request to the cluster, as above.
    virtual aio::Task<Result<std::int32_t>> node_port(ObjectKey /*job*/, aio::Deadline) {
        co_return 0;
    }

    // Starts no new effects, waits for those in flight, and releases the leadership, so that
    // another gpuctld can lead before this one has closed its client connections. Reads continue.
    virtual aio::Task<void> hand_over(aio::Deadline deadline) = 0;

    // Starts no new effects; those in flight finish or are cancelled at the deadline. True: all
    // ended.
    virtual aio::Task<bool> stop(aio::Deadline deadline) = 0;
};

}  // namespace gpuctl::ports
