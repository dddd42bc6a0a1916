#pragma once
// Everything the engine knows and has decided. It consists of parts, each of which owns its rows,
// its indexes and their transitions (ADR 0037). This class routes an event to the parts that it
// concerns, and makes and reads snapshots. apply() never plans.
//
// Lifecycle, owner, thread: the Engine's.

#include <memory>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/accounts/accounts.hpp"
#include "scheduler/state/bindings/bindings.hpp"
#include "scheduler/state/elastic/elastic_jobs.hpp"
#include "scheduler/state/evictions/evictions.hpp"
#include "scheduler/state/gangs/gangs.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/jobs/jobs.hpp"
#include "scheduler/state/maintenance/maintenance.hpp"
#include "scheduler/state/node_changes/node_changes.hpp"
#include "scheduler/state/nodes/nodes.hpp"
#include "scheduler/state/nominations/nominations.hpp"
#include "scheduler/state/pods/pods.hpp"
#include "scheduler/state/policy_objects/policy_objects.hpp"
#include "scheduler/state/run_times/run_times.hpp"
#include "scheduler/state/seats/seats.hpp"
#include "scheduler/state/session/session.hpp"
#include "scheduler/state/signals/signals.hpp"
#include "scheduler/state/tree/queue_tree.hpp"
#include "scheduler/state/waiting/waiting_jobs.hpp"
#include "scheduler/state/workloads/workloads.hpp"

namespace gpuctl {

class ClusterState {
public:
    ClusterState();
    ClusterState(const ClusterState&) = delete;
    ClusterState& operator=(const ClusterState&) = delete;

    void apply(const Event& event, Instant now, EffectList& effects);

    // The facts and decisions, without anything that can be rebuilt from them.
    [[nodiscard]] StateImage image() const;
    static Result<std::unique_ptr<ClusterState>> from_image(StateImage image);

    [[nodiscard]] Instant now() const { return session.now(); }
    [[nodiscard]] const Policy& policy() const { return session.policy(); }
    [[nodiscard]] const NodeRow& node(NodeId id) const { return nodes.rows()[id.value()]; }
    [[nodiscard]] const PodRow& pod(PodId id) const { return pods.rows()[id.value()]; }
    // What the pod requests, and which nodes it may use.
    [[nodiscard]] const Shape& shape_of(ShapeId id) const { return pods.shapes().at(id); }
    [[nodiscard]] const Shape& shape_of(const PodRow& pod) const { return shape_of(pod.shape); }
    [[nodiscard]] const Shape& shape_of(PodId id) const { return shape_of(pod(id)); }
    [[nodiscard]] const PlacementRules& rules_of(const Shape& shape) const {
        return pods.shapes().constraint(shape.constraint).rules;
    }
    [[nodiscard]] const JobRow& job(JobId id) const { return jobs.rows()[id.value()]; }
    [[nodiscard]] const PoolRow& pool(PoolId id) const { return tree.pool_rows()[id.value()]; }
    [[nodiscard]] const QueueRow& queue(QueueId id) const { return tree.queue_rows()[id.value()]; }
    [[nodiscard]] const TenantRow& tenant(TenantId id) const {
        return tree.tenant_rows()[id.value()];
    }

    Session session{*this};
    Nodes nodes{*this};
    Pods pods{*this};
    Jobs jobs{*this};
    WaitingJobs waiting{*this};
    Workloads workloads{*this};
    Seats seats{*this};
    Bindings bindings{*this};
    Gangs gangs{*this};
    Evictions evictions{*this};
    Nominations nominations{*this};
    ElasticJobs elastic{*this};
    QueueTree tree{*this};
    Accounts accounts{*this};
    RunTimes run_times{*this};
    Maintenance maintenance{*this};
    Signals signals{*this};
    PolicyObjects policy_objects;
    NodeChanges node_changes{*this};

private:
    struct Router;
    // Events that concern all parts.
    void on(const CacheSynced& event, EffectList& effects);
    void on(const LeadershipChanged& event, EffectList& effects);
    void on(const WokeUp& event, EffectList& effects);
};

}  // namespace gpuctl
