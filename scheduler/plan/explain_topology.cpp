// Where ranks find room, but not together or not apart, counted domain by domain.

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

struct Room {
    std::int64_t ranks = 0;
    std::int64_t ranks_empty = 0;
    std::int64_t gpus_free = 0;
    std::set<DomainId> apart;        // domains of the spread level with room for a rank
    std::set<DomainId> apart_empty;  // were they empty
};

class Survey {
public:
    Survey(const ClusterState& state, const JobRow& job, const Group& group)
        : state_(state), shape_(state.shapes().at(group.shape)), ranks_(group.ranks) {
        state.read_anchors(job, anchors_);
        // Where the others are, even if none of it may be used now.
        for (const NodeId anchor : anchors_) {
            if (level() == TopologyLevel::none) break;
            const DomainId id = domain(level(), anchor.value());
            if (id.exists()) rooms[state.capacity().domains().at_id(level(), id).name];
        }
        const PlacementRules& rules = state.shapes().constraint(shape_.constraint).rules;
        const NodeSet& nodes = state.capacity().nodes_of(job.pool);
        for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd;
             slot = nodes.next(slot + 1)) {
            const NodeFacts& facts = state.node(NodeId{slot}).facts;
            if ((state.node(NodeId{slot}).windows & group.barred) != 0) continue;
            if (first_refusal(rules, facts) == NodeRefusal::none) look_at(slot, facts);
        }
    }
    [[nodiscard]] bool is_beside_others() const {
        return level() != TopologyLevel::none &&
               std::any_of(anchors_.begin(), anchors_.end(),
                           [&](NodeId node) { return domain(level(), node.value()).exists(); });
    }
    // By name; without a required level, one for all of the pool.
    std::map<std::string, Room> rooms;

private:
    [[nodiscard]] TopologyLevel level() const { return shape_.topology.required; }
    [[nodiscard]] DomainId domain(TopologyLevel of, std::uint32_t slot) const {
        return state_.capacity().domains().of(of, slot);
    }
    [[nodiscard]] bool has_other(TopologyLevel of, DomainId id) const {
        return std::any_of(anchors_.begin(), anchors_.end(),
                           [&](NodeId node) { return domain(of, node.value()) == id; });
    }
    void look_at(std::uint32_t slot, const NodeFacts& facts) {
        if (is_beside_others() && !has_other(level(), domain(level(), slot))) return;
        Room& room = rooms[facts.topology.of(level())];
        const Capacity& capacity = state_.capacity();
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

std::string together(const std::string& level, const std::string& best, const Room& room,
                     const Survey& seen, std::int64_t ranks, bool has_gpus) {
    std::string text = " within one " + level;
    if (seen.is_beside_others()) text += ", where its other ranks are";
    text += "; " + level + " " + best + " has ";
    if (seen.rooms.size() > 1) text += "most ";
    text += has_gpus ? "free: " + gpus_noun(room.gpus_free) + ", room for " : "room: for ";
    text += std::to_string(room.ranks) + " of " + count(ranks, "rank", "ranks");
    return text;
}

std::string apart(const std::string& level, const Room& room, std::int64_t ranks) {
    const std::string where = ranks == 1
                                  ? " in a " + level + " where none of its others is"
                                  : " in " + std::to_string(ranks) + " different " + level + "s";
    return where + "; " + std::to_string(room.apart.size()) +
           (room.apart.size() == 1 ? " has room" : " have room");
}

// How ranks are to stand leaves them too little.
struct Shortage {
    std::string name;  // of the domain with most room
    Room room;
    std::int64_t domains = 0;
    std::int64_t ranks_empty = 0;  // that one domain would take were it empty
    std::string text;              // " within one rack; ..."
};

std::optional<Shortage> shortage(const ClusterState& state, const JobRow& job, const Group& group) {
    const Shape& shape = state.shapes().at(group.shape);
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
    Shortage out{name, room, static_cast<std::int64_t>(seen.rooms.size()), 0, ""};
    for (const auto& [other, of] : seen.rooms) {
        out.ranks_empty = std::max(out.ranks_empty, of.ranks_empty);
    }
    if (rules.required != TopologyLevel::none) {
        const bool has_gpus = state.capacity().kind(shape.index_column) == ColumnKind::gpu;
        out.text = together(std::string{to_string(rules.required)}, name, room, seen, group.ranks,
                            has_gpus);
    }
    if (rules.spread != TopologyLevel::none) {
        out.text += apart(std::string{to_string(rules.spread)}, room, group.ranks);
    }
    if (out.ranks_empty < group.ranks) {
        out.text += "; even empty there is room for " + std::to_string(out.ranks_empty) + " only";
    }
    return out;
}

}  // namespace

std::string topology_beside(const ClusterState& state, const JobRow& job, const Group& group) {
    const std::optional<Shortage> found = shortage(state, job, group);
    return found ? "; it needs them" + found->text : "";
}

std::optional<Explanation> explain_topology(const ClusterState& state, const JobRow& job,
                                            const Group& group) {
    const std::optional<Shortage> found = shortage(state, job, group);
    if (!found) return std::nullopt;
    const Shape& shape = state.shapes().at(group.shape);
    const TopologyRules& rules = shape.topology;
    const NodeSurvey nodes = survey(state, job.pool, shape, group.ranks, group.barred);
    Explanation out;
    out.reason = Reason::topology_insufficient;
    out.subject = rules.required == TopologyLevel::none ? state.pool(job.pool).name : found->name;
    out.tallies = nodes.tallies;
    out.nodes_total = nodes.nodes_pool;
    out.figures = {{"ranks_needed", group.ranks},
                   {"domains", found->domains},
                   {"ranks_fitting_in_one_domain", found->room.ranks},
                   {"ranks_fitting_in_one_domain_empty", found->ranks_empty},
                   {"gpus_free_in_one_domain", found->room.gpus_free}};
    out.sentence = asks_for(state.capacity(), shape, group.ranks) + found->text;
    if (rules.spread != TopologyLevel::none) {
        out.figures.push_back({"domains_needed", group.ranks});
        out.figures.push_back(
            {"domains_fitting", static_cast<std::int64_t>(found->room.apart.size())});
    }
    return out;
}

}  // namespace gpuctl::explain_parts
