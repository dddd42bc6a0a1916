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

class NodeFeed : public Feed {
public:
    NodeFeed(Outbox& outbox, LabelKeys labels, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), labels_(std::move(labels)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // What pool objects say of nodes; nodes whose pool that changes are reported again.
    void assign(ports::NodeMemberships all);
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
    void apply_membership(NodeFacts& facts) const;
    void report_again(const std::string& name);

    Networks networks_;
    LabelKeys labels_;
    ports::NodeMemberships memberships_;
    std::function<void(const std::string&)> say_;
    std::unordered_map<std::string, Known> nodes_;  // by name
    std::string scratch_;
};

}  // namespace gpuctl::k8s
