#pragma once
// Reports nodes. A node that a ComputePool names is reported in its pool, whatever its label says.
//
// Thread: the loop's. Memory: the facts of each node, packed, so that it can be reported again when
// its pool changes.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "k8s/json/labels.hpp"
#include "k8s/watch/feed.hpp"
#include "k8s/workload/network_facts.hpp"
#include "k8s/write/node_writer.hpp"
#include "ports/policy_store.hpp"
#include "scheduler/model/node.hpp"

namespace gpuctl::k8s {

// A label of nodes, prefix/pool-source, with this value: the label of the pool is a projection of a
// ComputePool.
inline constexpr const char* kPoolSourceSuffix = "/pool-source";
inline constexpr const char* kPoolSource = "computepool";

class NodeFeed : public Feed {
public:
    NodeFeed(Outbox& outbox, LabelKeys labels, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), labels_(std::move(labels)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // What pool objects say of nodes; nodes whose pool that changes are reported again.
    // `has_pools`: the cluster has ComputePools, so that the label of a node that none names counts
    // only if it is not a projection.
    void assign(ports::NodeMemberships all, bool has_pools);
    // Called after each node that is new or changed.
    void on_change(std::function<void(const std::string& node)> say) { say_ = std::move(say); }

    // As the watch showed it last; nullopt: there is no such node.
    [[nodiscard]] std::optional<WatchedNode> find(const std::string& name) const;
    [[nodiscard]] const Networks& networks() const { return networks_; }

private:
    struct Known {
        std::uint64_t fingerprint = 0;
        WatchedNode node;
        std::string facts;  // archived, as its labels say
    };
    [[nodiscard]] bool is_projected(const NodeLabels& labels) const;
    void apply_membership(NodeFacts& facts) const;
    void report_again(const std::string& name);

    Networks networks_;
    LabelKeys labels_;
    ports::NodeMemberships memberships_;
    bool has_pools_ = false;
    std::function<void(const std::string&)> say_;
    std::unordered_map<std::string, Known> nodes_;  // by name
    std::string scratch_;
};

}  // namespace gpuctl::k8s
