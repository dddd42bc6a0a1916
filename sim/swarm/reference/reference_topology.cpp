// Rules for ranks to be together or apart, by names in the nodes' facts.

#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {

std::string domain_of(const NodeFacts& node, TopologyLevel level) {
    const std::string& name = node.topology.of(level);
    return level == TopologyLevel::host && name.empty() ? node.name : name;
}

std::set<std::string> ReferenceModel::domains_of(const ObjectKey& job, TopologyLevel level,
                                                 const std::set<std::string>& but) const {
    std::set<std::string> out;
    const auto found = jobs.find(job);
    if (found == jobs.end() || level == TopologyLevel::none) return out;
    for (const std::string& uid : found->second) {
        const ReferencePod& pod = pods.at(uid);
        const auto node = nodes.find(pod.where());
        if (!pod.stays() || but.contains(uid) || node == nodes.end()) continue;
        const std::string name = domain_of(node->second, level);
        if (!name.empty()) out.insert(name);
    }
    return out;
}

std::map<std::string, std::int64_t> ReferenceModel::fitting_by_domain(
    const PodFacts& pod, std::int64_t pods_asked, bool when_empty,
    const std::vector<const NodeFacts*>& on) const {
    const TopologyRules& rules = pod.rules.topology;
    const std::set<std::string> domains = domains_of(job_of(pod), rules.required);
    const std::set<std::string> taken = domains_of(job_of(pod), rules.spread);
    const Amounts request = amounts_of(pod.request);
    std::map<std::string, std::int64_t> out;
    std::map<std::string, std::set<std::string>> apart;
    for (const std::string& name : domains) out[name] = 0;
    for (const NodeFacts* node : on) {
        const std::string where = domain_of(*node, rules.required);
        if (!domains.empty() && !domains.contains(where)) continue;
        std::int64_t ranks = fitting(*node, request, pods_asked, when_empty);
        if (rules.spread != TopologyLevel::none) {
            const std::string of = domain_of(*node, rules.spread);
            const bool is_new = ranks > 0 && !taken.contains(of) && apart[where].insert(of).second;
            ranks = is_new ? 1 : 0;
        }
        out[where] += ranks;
    }
    return out;
}

}  // namespace gpuctl::sim
