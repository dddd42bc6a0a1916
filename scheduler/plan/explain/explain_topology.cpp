// Explains why ranks find room, but not together or not apart as their rules require. Room is
// counted domain by domain.

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

struct Room {
    std::int64_t ranks = 0;
    std::int64_t ranks_empty = 0;
    std::int64_t gpus_free = 0;
    std::set<DomainId> apart;        // domains of the spread level with room for a rank
    std::set<DomainId> apart_empty;  // such domains if all their nodes were empty
};

class Survey {
public:
    Survey(const ClusterState& state, const JobRow& job, const Group& group)
        : state_(state), shape_(state.shape_of(group.shape)), ranks_(group.ranks) {
        state.gangs.read_anchors(job, anchors_);
        // The domain of the job's other pods, even if none of its nodes may be used now.
        for (const NodeId anchor : anchors_) {
            if (level() == TopologyLevel::none) break;
            const DomainId id = domain(level(), anchor.value());
            if (id.exists()) rooms[state.nodes.capacity().domains().at_id(level(), id).name];
        }
        const PlacementRules& rules = state.rules_of(shape_);
        for (const std::uint32_t slot : state.nodes.capacity().nodes_of(job.pool)) {
            const NodeFacts& facts = state.node(NodeId{slot}).facts;
            if ((state.node(NodeId{slot}).windows & group.barred) != 0) continue;
            if (first_refusal(rules, facts) == NodeRefusal::none) count_node(slot, facts);
        }
    }
    [[nodiscard]] bool has_bound_ranks() const {
        return level() != TopologyLevel::none &&
               std::any_of(anchors_.begin(), anchors_.end(),
                           [&](NodeId node) { return domain(level(), node.value()).exists(); });
    }
    // By name of the domain; without a required level one entry for the whole pool.
    std::map<std::string, Room> rooms;

private:
    [[nodiscard]] TopologyLevel level() const { return shape_.topology.required; }
    [[nodiscard]] DomainId domain(TopologyLevel of, std::uint32_t slot) const {
        return state_.nodes.capacity().domains().of(of, slot);
    }
    [[nodiscard]] bool has_other(TopologyLevel of, DomainId id) const {
        return std::any_of(anchors_.begin(), anchors_.end(),
                           [&](NodeId node) { return domain(of, node.value()) == id; });
    }
    void count_node(std::uint32_t slot, const NodeFacts& facts) {
        if (has_bound_ranks() && !has_other(level(), domain(level(), slot))) return;
        Room& room = rooms[facts.topology.of(level())];
        const Capacity& capacity = state_.nodes.capacity();
        if (capacity.kind(shape_.index_column) == ColumnKind::gpu) {
            room.gpus_free += std::max<std::int64_t>(capacity.free(shape_.index_column, slot), 0);
        }
        const std::int64_t now = capacity.fitting(slot, shape_.needs, ranks_);
        const std::int64_t empty = capacity.fitting_empty(slot, shape_.needs, ranks_);
        if (shape_.topology.spread == TopologyLevel::none) {
            room.ranks = std::min(room.ranks + now, ranks_);
            room.ranks_empty = std::min(room.ranks_empty + empty, ranks_);
            return;
        }
        const DomainId apart = domain(shape_.topology.spread, slot);
        if (has_other(shape_.topology.spread, apart)) return;
        if (now > 0) room.apart.insert(apart);
        if (empty > 0) room.apart_empty.insert(apart);
        room.ranks = std::min(static_cast<std::int64_t>(room.apart.size()), ranks_);
        room.ranks_empty = std::min(static_cast<std::int64_t>(room.apart_empty.size()), ranks_);
    }

    const ClusterState& state_;
    const Shape& shape_;
    std::int64_t ranks_;
    std::vector<NodeId> anchors_;
};

// Reports if the topology rules leave the ranks too little room.
std::optional<fact::TopologyShort> shortage(const ClusterState& state, const JobRow& job,
                                            const Group& group) {
    const Shape& shape = state.shape_of(group.shape);
    const TopologyRules& rules = shape.topology;
    if (rules.required == TopologyLevel::none && rules.spread == TopologyLevel::none) {
        return std::nullopt;
    }
    const Survey seen{state, job, group};
    if (seen.rooms.empty()) return std::nullopt;
    const auto least = [](const auto& a, const auto& b) {
        const auto key = [](const Room& room) { return std::pair{room.ranks, room.gpus_free}; };
        return key(a.second) < key(b.second);
    };
    const auto& [name, room] = *std::max_element(seen.rooms.begin(), seen.rooms.end(), least);
    if (room.ranks >= group.ranks) return std::nullopt;
    fact::TopologyShort out;
    out.required = rules.required;
    out.spread = rules.spread;
    out.domain = name;
    out.domains = static_cast<std::int64_t>(seen.rooms.size());
    out.is_bound_to_gang = seen.has_bound_ranks();
    out.has_gpus = state.nodes.capacity().kind(shape.index_column) == ColumnKind::gpu;
    out.gpus_free = room.gpus_free;
    out.ranks = group.ranks;
    out.ranks_fitting = room.ranks;
    for (const auto& [other, of] : seen.rooms) {
        out.ranks_fitting_empty = std::max(out.ranks_fitting_empty, of.ranks_empty);
    }
    out.spread_domains = static_cast<std::int64_t>(room.apart.size());
    return out;
}

}  // namespace

std::optional<fact::TopologyShort> find_topology_shortage(const ClusterState& state,
                                                          const JobRow& job, const Group& group) {
    std::optional<fact::TopologyShort> found = shortage(state, job, group);
    if (found) found->is_added = true;
    return found;
}

std::optional<Explanation> explain_topology(const ClusterState& state, const JobRow& job,
                                            const Group& group) {
    std::optional<fact::TopologyShort> found = shortage(state, job, group);
    if (!found) return std::nullopt;
    const Shape& shape = state.shape_of(group.shape);
    const TopologyRules& rules = shape.topology;
    const NodeSurvey nodes = survey(state, job.pool, shape, group.ranks, group.barred);
    Explanation out;
    out.reason = Reason::topology_insufficient;
    out.subject = rules.required == TopologyLevel::none ? state.pool(job.pool).name : found->domain;
    out.tallies = nodes.tallies;
    out.nodes_total = nodes.nodes_pool;
    out.figures = {{"ranks_needed", group.ranks},
                   {"domains", found->domains},
                   {"ranks_fitting_in_one_domain", found->ranks_fitting},
                   {"ranks_fitting_in_one_domain_empty", found->ranks_fitting_empty},
                   {"gpus_free_in_one_domain", found->gpus_free}};
    if (rules.spread != TopologyLevel::none) {
        out.figures.push_back({"domains_needed", group.ranks});
        out.figures.push_back({"domains_fitting", found->spread_domains});
    }
    out.facts = {request_of(state.nodes.capacity(), shape, group.ranks), std::move(*found)};
    return out;
}

}  // namespace gpuctl::explain_parts
