// I18: ranks are placed together and apart as their topology rules require.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::check_topology(const PlacedJob& placed_job) {
    if (!placed_job.pod.rules.topology.any()) return;
    std::vector<std::string> nodes;
    for (const std::string& uid : placed_job.uids)
        nodes.push_back(reference_.pods.at(uid).bind_node);
    check_places("job " + to_string(placed_job.job) + " was placed ", placed_job.job,
                 placed_job.pod, placed_job.excluded, nodes);
}

void Checker::check_nominated_topology(const JobRow& job, const PodFacts& like,
                                       const ClusterState& after) {
    if (!like.rules.topology.any()) return;
    std::vector<std::string> nodes;
    for (const PodId id : job.pods) {
        const PodRow& pod = after.pod(id);
        if (pod.bind.state != BindState::nominated) continue;
        nodes.push_back(after.node(pod.node).facts.name);
    }
    check_places("nodes are nominated for job " + to_string(job.key) + " ", job.key, like, {},
                 nodes);
}

// `but`: pods of the job that do not count, such as the pods that are being placed.
void Checker::check_places(const std::string& what, const ObjectKey& job, const PodFacts& like,
                           const std::set<std::string>& but,
                           const std::vector<std::string>& nodes) {
    ++probes.topologies_checked;
    const TopologyRules& rules = like.rules.topology;
    std::set<std::string> together;
    std::set<std::string> apart = reference_.domains_of(job, rules.spread, but);
    const std::set<std::string> domains = reference_.domains_of(job, rules.required, but);
    for (const std::string& name : nodes) {
        const auto node = reference_.nodes.find(name);
        if (node == reference_.nodes.end()) continue;
        if (rules.required != TopologyLevel::none) {
            together.insert(domain_of(node->second, rules.required));
        }
        if (rules.spread != TopologyLevel::none &&
            !apart.insert(domain_of(node->second, rules.spread)).second) {
            fail("I18", what + "with two ranks in one " + std::string{to_string(rules.spread)});
        }
    }
    if (together.size() > 1) {
        fail("I18", what + "in several " + std::string{to_string(rules.required)} + "s");
    }
    if (together.size() == 1 && !domains.empty() && !domains.contains(*together.begin())) {
        fail("I18", what + "away from its other ranks");
    }
}

void Checker::recount_topology(const std::string& name, const PodFacts& pod,
                               const Explanation& explanation) {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    const std::int64_t ranks = figure(explanation, "ranks_needed");
    std::vector<const NodeFacts*> on;
    for (const auto& [node_name, node] : reference_.nodes) {
        if (node.pool == pool && reference_.admits(node, pod)) on.push_back(&node);
    }
    const auto now = reference_.fitting_by_domain(pod, ranks, false, on);
    const auto empty = reference_.fitting_by_domain(pod, ranks, true, on);
    const auto most = [ranks](const std::map<std::string, std::int64_t>& of) {
        std::int64_t found = 0;
        for (const auto& [domain_name, fitting] : of) found = std::max(found, fitting);
        return std::min(found, ranks);
    };
    const auto expect = [&](const char* what, std::int64_t counted) {
        if (figure(explanation, what) == counted) return;
        fail("I15", name + what + " is reported as " + std::to_string(figure(explanation, what)) +
                        " and is " + std::to_string(counted));
    };
    expect("domains", static_cast<std::int64_t>(now.size()));
    expect("ranks_fitting_in_one_domain", most(now));
    expect("ranks_fitting_in_one_domain_empty", most(empty));
    if (most(now) >= ranks) fail("I15", name + "one domain has room for all ranks");
}

}  // namespace gpuctl::sim
