#include "k8s/cluster/node_feed.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "k8s/convert/convert_node.hpp"
#include "scheduler/base/archive.hpp"
#include "scheduler/model/policy/policy.hpp"

namespace gpuctl::k8s {

bool NodeFeed::is_projected(const NodeLabels& labels) const {
    const auto source = labels.find(labels_.prefix() + kPoolSourceSuffix);
    return source != labels.end() && source->second == kPoolSource;
}

void NodeFeed::apply_membership(NodeFacts& facts) const {
    const auto member = memberships_.find(facts.name);
    if (member == memberships_.end()) {
        if (has_pools_ && is_projected(facts.labels)) facts.pool = kDefaultPool;
        return;
    }
    facts.pool = member->second.pool;
    if (!member->second.gpu_model.empty()) facts.gpu_model = member->second.gpu_model;
}

bool NodeFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                         std::string_view object) {
    auto facts = read_node(object, labels_);
    if (!facts) {
        ++figures_.unreadable;
        return true;
    }
    std::string as_labelled = to_archive(*facts);
    apply_membership(*facts);
    const std::uint64_t print = fingerprint(*facts, scratch_);
    const auto known = nodes_.find(identity.name);
    if (known != nodes_.end() && known->second.fingerprint == print) {
        ++figures_.unchanged;
        known->second.node.resource_version = identity.resource_version;
        return true;
    }
    networks_.set(*facts, labels_.prefix());
    WatchedNode node{identity.uid, identity.resource_version, facts->unschedulable, facts->labels};
    if (!outbox_.offer(NodeObserved{std::move(*facts)})) return false;
    ++figures_.reported;
    nodes_.insert_or_assign(identity.name, Known{print, std::move(node), std::move(as_labelled)});
    if (say_) say_(identity.name);
    return true;
}

bool NodeFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    if (!nodes_.contains(identity.name)) return true;
    if (!outbox_.offer(NodeRemoved{identity.name})) return false;
    networks_.erase(identity.name);
    nodes_.erase(identity.name);
    return true;
}

void NodeFeed::assign(ports::NodeMemberships all, bool has_pools) {
    const ports::NodeMemberships before = std::exchange(memberships_, std::move(all));
    std::vector<std::string> affected;
    if (std::exchange(has_pools_, has_pools) != has_pools) {
        for (const auto& [name, known] : nodes_) {
            if (is_projected(known.node.labels)) affected.push_back(name);
        }
        std::sort(affected.begin(), affected.end());  // for a deterministic order of events
    }
    for (const auto& [name, member] : before) {
        if (!memberships_.contains(name)) affected.push_back(name);
    }
    for (const auto& [name, member] : memberships_) {
        const auto had = before.find(name);
        if (had == before.end() || had->second != member) affected.push_back(name);
    }
    for (const std::string& name : affected) report_again(name);
}

// No watch event repeats this: the change is outside the node.
void NodeFeed::report_again(const std::string& name) {
    const auto known = nodes_.find(name);
    if (known == nodes_.end()) return;
    NodeFacts facts;
    if (!from_archive(known->second.facts, facts)) return;
    apply_membership(facts);
    const std::uint64_t print = fingerprint(facts, scratch_);
    if (known->second.fingerprint == print) return;
    networks_.set(facts, labels_.prefix());
    outbox_.deliver(NodeObserved{std::move(facts)});
    ++figures_.reported;
    known->second.fingerprint = print;
}

std::optional<WatchedNode> NodeFeed::find(const std::string& name) const {
    const auto known = nodes_.find(name);
    if (known == nodes_.end()) return std::nullopt;
    return known->second.node;
}

}  // namespace gpuctl::k8s
