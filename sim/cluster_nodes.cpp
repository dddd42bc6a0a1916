// Changes of nodes that users request: labels and cordons.

#include <algorithm>

#include "scheduler/model/policy/policy.hpp"
#include "sim/cluster.hpp"
#include "wording/node_change.hpp"

namespace gpuctl::sim {

// As the node lifecycle controller of Kubernetes does.
void Cluster::set_cordon(NodeFacts& node, bool is_cordoned) {
    const Taint taint{"node.kubernetes.io/unschedulable", "", TaintEffect::no_schedule};
    std::erase(node.taints, taint);
    if (is_cordoned) node.taints.push_back(taint);
    node.unschedulable = is_cordoned;
}

// Null: the label is removed. What other facts are read from the label follows it.
void Cluster::set_label(NodeFacts& node, const std::string& key, const std::string* value) const {
    if (value != nullptr) {
        node.labels[key] = *value;
    } else {
        node.labels.erase(key);
    }
    const auto at = std::lower_bound(node.changed_labels.begin(), node.changed_labels.end(), key);
    if (at == node.changed_labels.end() || *at != key) node.changed_labels.insert(at, key);
    const std::string text = value != nullptr ? *value : std::string{};
    const std::string& prefix = settings_.label_prefix;
    if (key == prefix + "/pool") node.pool = text.empty() ? std::string{kDefaultPool} : text;
    if (key == prefix + "/gpu-type") node.gpu_model = text;
    if (key == prefix + "/health") node.unhealthy = text == "failed" ? "marked as failed" : "";
    if (key == prefix + "/drain") node.draining = text == "true";
    node.topology = topology_of(node.name, node.labels, prefix, topology_labels_);
}

void Cluster::deliver(const ChangeNode& effect, Instant, Out& out) {
    const NodeChange& change = effect.change;
    NodeChangeOutcome outcome{effect.id,
                              effect.request,
                              change.node,
                              NodeChangeResult::refused,
                              ErrorCode::NodeNotFound,
                              wording::node_change_text(change, {ErrorCode::NodeNotFound, {}, {}})};
    const auto found = nodes_.find(change.node);
    if (found == nodes_.end()) return out.push_back(outcome);
    NodeFacts& node = found->second.facts;
    if (const auto fits = check_conditions(change, node.uid, node.labels); !fits) {
        outcome.code = fits.error().code;
        outcome.message = wording::node_change_text(change, fits.error());
        return out.push_back(outcome);
    }
    if (!is_as_wanted(change, node.unschedulable, node.labels)) {
        for (const auto& [key, value] : change.set) set_label(node, key, &value);
        for (const std::string& key : change.remove) set_label(node, key, nullptr);
        if (change.cordon != NodeCordon::unchanged)
            set_cordon(node, change.cordon == NodeCordon::cordon);
        out.push_back(NodeObserved{node});
    }
    outcome.result = NodeChangeResult::changed;
    outcome.message.clear();
    out.push_back(outcome);
}

}  // namespace gpuctl::sim
