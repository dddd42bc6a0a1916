// I18: ranks are placed together and apart as they ask.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

std::string domain(const NodeFacts& node, TopologyLevel level) {
    const std::string& name = node.topology.of(level);
    return level == TopologyLevel::host && name.empty() ? node.name : name;
}

}  // namespace

void Judge::check_topology(const Turn& turn) {
    if (!turn.pod.rules.topology.any()) return;
    std::vector<std::string> nodes;
    for (const std::string& uid : turn.uids) nodes.push_back(books_.pods.at(uid).promised);
    check_places("job " + to_string(turn.job) + " was placed ", turn.job, turn.pod, turn.away,
                 nodes);
}

void Judge::check_claimed_topology(const JobRow& job, const PodFacts& like,
                                   const ClusterState& after) {
    if (!like.rules.topology.any()) return;
    std::vector<std::string> nodes;
    for (const PodId id : job.pods) {
        const PodRow& pod = after.pod(id);
        if (pod.standing != PodStanding::claimed) continue;
        nodes.push_back(after.node(pod.node).facts.name);
    }
    check_places("room is claimed for job " + to_string(job.key) + " ", job.key, like, {}, nodes);
}

// `but`: pods of the job that do not count, such as those that the nodes are for.
void Judge::check_places(const std::string& what, const ObjectKey& job, const PodFacts& like,
                         const std::set<std::string>& but, const std::vector<std::string>& nodes) {
    ++probes.topologies_judged;
    const TopologyRules& rules = like.rules.topology;
    std::set<std::string> together;
    std::set<std::string> apart = books_.domains_of(job, rules.spread, but);
    const std::set<std::string> beside = books_.domains_of(job, rules.required, but);
    for (const std::string& name : nodes) {
        const auto node = books_.nodes.find(name);
        if (node == books_.nodes.end()) continue;
        if (rules.required != TopologyLevel::none) {
            together.insert(domain(node->second, rules.required));
        }
        if (rules.spread != TopologyLevel::none &&
            !apart.insert(domain(node->second, rules.spread)).second) {
            fail("I18", what + "with two ranks in one " + std::string{to_string(rules.spread)});
        }
    }
    if (together.size() > 1) {
        fail("I18", what + "in several " + std::string{to_string(rules.required)} + "s");
    }
    if (together.size() == 1 && !beside.empty() && !beside.contains(*together.begin())) {
        fail("I18", what + "away from its others");
    }
}

void Judge::recount_topology(const std::string& name, const PodFacts& pod,
                             const Explanation& told) {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    const std::int64_t ranks = figure(told, "ranks_needed");
    std::vector<const NodeFacts*> on;
    for (const auto& [node_name, node] : books_.nodes) {
        if (node.pool == pool && books_.admits(node, pod)) on.push_back(&node);
    }
    const auto now = books_.fitting_by_domain(pod, ranks, false, on);
    const auto empty = books_.fitting_by_domain(pod, ranks, true, on);
    const auto most = [ranks](const std::map<std::string, std::int64_t>& of) {
        std::int64_t found = 0;
        for (const auto& [domain_name, fitting] : of) found = std::max(found, fitting);
        return std::min(found, ranks);
    };
    const auto expect = [&](const char* what, std::int64_t counted) {
        if (figure(told, what) == counted) return;
        fail("I15", name + what + " is told as " + std::to_string(figure(told, what)) + " and is " +
                        std::to_string(counted));
    };
    expect("domains", static_cast<std::int64_t>(now.size()));
    expect("ranks_fitting_in_one_domain", most(now));
    expect("ranks_fitting_in_one_domain_empty", most(empty));
    if (most(now) >= ranks) fail("I15", name + "there is a domain with room for all");
}

}  // namespace gpuctl::sim
