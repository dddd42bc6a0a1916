#pragma once
// Between a cluster that stores the objects of the policy and the engine: what the cluster reports
// of them becomes the policy, in the same turn, and goes on to the engine after it. Before the
// first lists are complete it is only collected. The other way, what is known of the objects is
// reported to the cluster, where its users look at them.
//
// Owner: the composition root. Thread: the loop's.

#include <set>
#include <vector>

#include "daemon/api/policy/policy_layers.hpp"
#include "ports/event_sink.hpp"

namespace gpuctl::api {

class ReportedObjects final : public ports::EventSink {
public:
    // Both outlive this. The journal was replayed.
    ReportedObjects(core::EngineLoop& engine, PolicyLayers& layers)
        : engine_(engine), layers_(layers), objects_(layers.objects()) {}

    [[nodiscard]] bool offer(Event event) override;

private:
    using Objects = PolicyLayers::Objects;
    bool take_change(PolicyObjectsChanged change);
    bool end_first_lists();
    void apply(const PolicyObjectsChanged& change);
    [[nodiscard]] PolicyObjectsChanged replacing(PolicyObjectsChanged change) const;

    core::EngineLoop& engine_;
    PolicyLayers& layers_;
    Objects objects_;
    std::set<PolicyKey> listed_;
    bool is_synced_ = false;
};

// What is known of pools and queues.
std::vector<ports::PolicyObjectStatus> policy_statuses(core::EngineLoop& engine,
                                                       const PolicyLayers& layers);
// Reports it while this daemon leads, until cancelled. All outlive it.
aio::Task<void> report_policy(core::EngineLoop& engine, const PolicyLayers& layers,
                              ports::PolicyObjectPort& objects);

}  // namespace gpuctl::api
