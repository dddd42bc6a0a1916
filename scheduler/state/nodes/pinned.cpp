// Pods that name their node belong to the pool of that node, so they change pools when nodes are
// added, removed or moved. Pods for which a controller makes one gang per group belong to one gang
// if an object with the name of the gang exists.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/nodes/pins.hpp"

namespace gpuctl {
namespace {

// Each node is an entry in an index; a pod that allows hundreds of nodes does not pin one.
constexpr std::size_t kPinsMax = 16;

// Values by the name of a node, or by the label of the pin.
std::vector<NodePin> pins_in(const SelectorTerm& term, const std::string& label) {
    std::vector<NodePin> pins;
    for (const SelectorRequirement& one : label.empty() ? term.fields : term.labels) {
        if (one.op != SelectorOperator::in || (!label.empty() && one.key != label)) continue;
        for (const std::string& value : one.values) pins.push_back({label, value});
    }
    return pins;
}

bool is_named_by(const NodePin& pin, const NodeRow& row) {
    if (!row.known) return false;
    if (pin.label.empty()) return row.facts.name == pin.value;
    const auto label = row.facts.labels.find(pin.label);
    return label != row.facts.labels.end() && label->second == pin.value;
}

}  // namespace

std::vector<NodePin> pins_of(const PodFacts& pod) {
    if (!pod.pin.exists()) return {};
    std::vector<NodePin> pins{pod.pin};
    bool is_affinity = false;  // otherwise a node selector or a volume names the node
    for (const SelectorTerm& term :
         pod.rules.required_affinity.value_or(std::vector<SelectorTerm>{})) {
        if (term.broken) continue;
        for (NodePin& pin : pins_in(term, pod.pin.label)) {
            if (pin == pod.pin) is_affinity = true;
            const bool is_new = std::ranges::find(pins, pin) == pins.end();
            const bool is_room = pins.size() < kPinsMax;
            if (is_new && is_room && pin.exists()) pins.push_back(std::move(pin));
        }
    }
    if (!is_affinity) pins.resize(1);
    return pins;
}

NodeId named_node(const ClusterState& state, const PodFacts& pod) {
    const std::vector<NodePin> pins = pins_of(pod);
    // A running pod stays with the node that it is on, even if a node that it names before is
    // added.
    if (const NodeId on = pins.size() > 1 ? state.nodes.find_node(pod.node) : NodeId::none();
        on.exists() && std::ranges::any_of(pins, [&](const NodePin& pin) {
            return is_named_by(pin, state.node(on));
        })) {
        return on;
    }
    for (const NodePin& pin : pins) {
        const NodeId node = pinned_node(state, pin);
        if (node.exists()) return node;
    }
    return NodeId::none();
}

NodeId pinned_node(const ClusterState& state, const NodePin& pin) {
    // Nearly always the node has the name that its label has.
    const NodeId named = state.nodes.find_node(pin.value);
    if (named.exists() && is_named_by(pin, state.node(named))) return named;
    if (pin.label.empty()) return NodeId::none();
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        if (is_named_by(pin, state.node(id))) return id;
    }
    return NodeId::none();
}

std::string_view pool_wanted_by(const ClusterState& state, const PodFacts& pod) {
    if (!pod.pool.empty()) return pod.pool;
    const NodeId node = named_node(state, pod);
    return node.exists() ? std::string_view{state.node(node).facts.pool} : kDefaultPool;
}

ObjectKey job_key_of(const ClusterState& state, const PodFacts& pod) {
    if (!pod.gang_named.empty()) {
        ObjectKey gang = gang_named_by(pod);
        if (state.gangs.gang_sizes().contains(gang)) return gang;
    }
    ObjectKey key{pod.key.namespace_name, pod.job};
    if (!pod.pin.exists() || !pod.pool.empty() || pod.gang) return key;
    const std::string_view pool = pool_wanted_by(state, pod);
    if (pool != kDefaultPool) key.name = job_in_pool(key.name, pool);
    return key;
}

ObjectKey gang_named_by(const PodFacts& pod) {
    return {pod.key.namespace_name, std::string{kForeignGangPrefix} + pod.gang_named};
}

namespace {

template <typename Index, typename Key>
void note_in(Index& index, const Key& key, PodId id, bool is_there) {
    std::set<PodId>& pods = index[key];
    if (is_there) {
        pods.insert(id);
    } else {
        pods.erase(id);
        if (pods.empty()) index.erase(key);
    }
}

}  // namespace

void Outside::note_pod(const PodFacts& pod, PodId id, bool is_there) {
    if (!pod.ours) return;
    for (const NodePin& pin : pins_of(pod)) note_in(pinned, pin, id, is_there);
    if (!pod.gang_named.empty()) note_in(gang_named, gang_named_by(pod), id, is_there);
}

std::vector<std::string> pods_that_name(const ClusterState& state, const NodeFacts& node) {
    std::vector<std::string> uids;
    const auto& pinned = state.nodes.outside().pinned;
    const auto add = [&](const NodePin& pin) {
        const auto found = pinned.find(pin);
        if (found == pinned.end()) return;
        for (const PodId pod : found->second) uids.push_back(state.pod(pod).facts.uid);
    };
    if (pinned.empty()) return uids;
    add({"", node.name});
    for (const auto& [label, value] : node.labels) add({label, value});
    return uids;
}

std::vector<std::string> pods_that_name(const ClusterState& state, const ObjectKey& gang) {
    std::vector<std::string> uids;
    const auto found = state.nodes.outside().gang_named.find(gang);
    if (found == state.nodes.outside().gang_named.end()) return uids;
    for (const PodId pod : found->second) uids.push_back(state.pod(pod).facts.uid);
    return uids;
}

}  // namespace gpuctl
