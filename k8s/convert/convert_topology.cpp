// A pod's topology requirements (docs/adr/0019): a level by its name, or by the node label that
// names its domains, as Kueue's annotations do.

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

TopologyLevel read_level(const OwnValue& said, OwnKey key, const LabelKeys& labels,
                         PodFacts& facts) {
    if (said.text.empty()) return TopologyLevel::none;
    const auto level = topology_level_of(said.text, labels.prefix(), labels.topology());
    if (level) return *level;
    facts.unsupported.push_back("the annotation " + labels.text(key) + " is " +
                                in_quotes(said.text) +
                                ", not host, nvlink, rack, block or a node label for one of them");
    return TopologyLevel::none;
}

}  // namespace

void add_topology(const MetadataParts& metadata, const LabelKeys& labels, PodFacts& facts) {
    TopologyRules& rules = facts.rules.topology;
    rules.required =
        read_level(metadata.required_topology, OwnKey::required_topology, labels, facts);
    rules.preferred =
        read_level(metadata.preferred_topology, OwnKey::preferred_topology, labels, facts);
    rules.spread = read_level(metadata.topology_spread, OwnKey::topology_spread, labels, facts);
    if (const std::string problem = problem_with(rules); !problem.empty()) {
        facts.unsupported.push_back(problem);
    }
    // Placed one by one, the first pod could choose a rack without room for the rest.
    const bool is_lone = facts.job.starts_with(kLonePodPrefix);
    if (!facts.gang && !is_lone && rules.required != TopologyLevel::none) {
        facts.unsupported.push_back("the annotation " + labels.text(OwnKey::required_topology) +
                                    " on one of several pods that are not a gang");
    }
}

}  // namespace gpuctl::k8s
