#pragma once
// Finds nodes, and devices for parts of GPUs. One pod goes to where it spoils least
// (fragmentation.hpp); a gang goes to few nodes, all of its ranks or none. Jobs that say how their
// pods are to stand to each other (docs/adr/0019) are placed within domains: placer_topology.cpp.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/plan/best_node.hpp"
#include "scheduler/plan/eligibility.hpp"
#include "scheduler/plan/fragmentation.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Placer {
public:
    struct Spot {
        NodeId node;
        std::int32_t device = kNoDevice;
    };
    // Where one pod of this shape spoils least; no node when it fits nowhere.
    Spot best(const ClusterState& state, const Capacity& capacity, PoolId pool, ShapeId id);

    // The tightest node of the pool for `ranks` pods of this shape together; none when no node.
    NodeId tightest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    const Shape& shape, std::int64_t ranks);

    // Fills `out` with a node for each of `pods`, in their order; false (and `out` empty) when that
    // is impossible. The first of them runs: it is about all of its gang anew, and where it is now
    // says nothing. Complete for pods of one shape. For several shapes a search follows when the
    // first try fails, bounded by kSearchStepsMax, complete within it.
    bool place_all(const ClusterState& state, Capacity& capacity, PoolId pool,
                   const std::vector<PodId>& pods, std::vector<Placement>& out);

    // The nodes that the rules of this shape allow, and maintenance.
    const NodeSet& eligible(const ClusterState& state, const Shape& shape) {
        if (!barred_) return eligibility_.of(state, shape.constraint);
        return eligibility_.outside(state, shape.constraint, *barred_);
    }

    EligibilityCache& eligibility() { return eligibility_; }

    // May the pod go there, given where the others of its job are, and on what GPUs?
    [[nodiscard]] bool keeps_topology(const ClusterState& state, PodId pod, NodeId node);

    // Nodes with these GPU models are left alone by what follows; the names must live as long.
    void avoid(const std::vector<std::string_view>& models) {
        avoided_ = models;
        avoided_.insert(avoided_.end(), kept_off_.begin(), kept_off_.end());
    }
    [[nodiscard]] const std::vector<std::string_view>& avoided() const { return avoided_; }
    // The same, whatever else is to be avoided: what is left of them is kept for somebody.
    void keep_off(const std::vector<std::string_view>& models) { kept_off_ = models; }
    [[nodiscard]] const std::vector<std::string_view>& kept_off() const { return kept_off_; }
    // What follows is placed outside of these windows; absent: of those that have begun.
    void keep_outside(std::optional<WindowSet> windows) { barred_ = windows; }
    [[nodiscard]] std::optional<WindowSet> outside() const { return barred_; }

    // Tries of one pod on one node. Enough for all worlds up to about eight ranks on eight nodes;
    // beyond it a mixed gang may be refused although a placement exists.
    static constexpr std::int64_t kSearchStepsMax = 20'000;

private:
    // All of `pods` as far as models go; place_all() tries one model after the other with it.
    bool place_now(const ClusterState& state, Capacity& capacity, PoolId pool,
                   const std::vector<PodId>& pods, std::vector<Placement>& out);
    NodeId roomiest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    const Shape& shape, std::int64_t ranks, std::int64_t& fitting);
    [[nodiscard]] static bool runs_now(const ClusterState& state, PodId pod) {
        return state.pod(pod).standing == PodStanding::bound;
    }
    [[nodiscard]] bool is_avoided(const ClusterState& state, std::uint32_t slot) const;
    NodeId beside_gpus(const Capacity& capacity, PoolId pool, const Shape& shape,
                       const NodeSet& eligible, std::int64_t ranks) const;
    void sort_by_size(const ClusterState& state, const std::vector<PodId>& pods);
    bool place_greedily(const ClusterState& state, Capacity& capacity, PoolId pool,
                        Transaction& attempt);
    void take_ranks(const Capacity& capacity, Transaction& attempt, NodeId node, const Shape& shape,
                    std::int64_t ranks);
    bool search(const ClusterState& state, Capacity& capacity, PoolId pool, Transaction& attempt,
                std::size_t next, std::int64_t& steps_left);
    // The pods of order_, wherever allowed; chosen_ says where. The attempt keeps what it took.
    bool place_order(const ClusterState& state, Capacity& capacity, PoolId pool,
                     Transaction& attempt, std::int64_t& steps_left);
    bool place_ranks(const ClusterState& state, const Capacity& capacity, PoolId pool,
                     Transaction& attempt, ShapeId id, std::int64_t ranks);
    // The node on which one pod spoils least; none when it fits nowhere.
    NodeId cheapest(const ClusterState& state, const Capacity& capacity, PoolId pool, ShapeId id);
    std::int64_t take_while_cheap(const Capacity& capacity, Transaction& attempt, PoolId pool,
                                  NodeId node, const Shape& shape, std::int64_t ranks);
    void tell(const std::vector<PodId>& pods, std::vector<Placement>& out) const;

    // --- topology (placer_topology.cpp) ---
    // A domain to place in, or a node of which nobody says where it stands.
    struct Group {
        DomainId domain;
        std::uint32_t first_slot = 0;
        std::int64_t ranks = 0;      // find room there
        std::int64_t gpus_free = 0;  // on the nodes that have some
        bool is_anchored = false;    // others of the job are there
    };
    struct Room {
        std::uint32_t slot = 0;
        std::int64_t ranks = 0;
        std::uint32_t group = 0;
    };
    [[nodiscard]] const NodeSet& allowed(const ClusterState& state, const Shape& shape);
    void open_scope();  // of scope_slots_
    void close_scope();
    bool place_in_domains(const ClusterState& state, Capacity& capacity, PoolId pool,
                          const std::vector<PodId>& pods, std::vector<Placement>& out);
    Spot best_beside(const ClusterState& state, const Capacity& capacity, PoolId pool, PodId pod);
    bool place_together(const ClusterState& state, Capacity& capacity, PoolId pool,
                        Transaction& attempt, const Shape& shape);
    bool place_mixed(const ClusterState& state, Capacity& capacity, PoolId pool,
                     Transaction& attempt, std::int64_t& steps_left);
    bool place_in_scope(const ClusterState& state, Capacity& capacity, PoolId pool,
                        Transaction& attempt, std::int64_t& steps_left);
    // The candidates of the required level that may have room for so many GPUs, tightest first.
    void list_domains(const Capacity& capacity, TopologyLevel level, std::int64_t gpus);
    void survey_rooms(const ClusterState& state, const Capacity& capacity, PoolId pool,
                      const Shape& shape, DomainId required);
    void count_room(const Capacity& capacity, const Shape& shape, std::uint32_t slot);
    // As few of the groups as hold all; into picked_. How many; none: they do not.
    std::size_t pick_groups(const Capacity& capacity);
    std::size_t pick_fewest(const std::vector<std::uint32_t>& from, std::vector<std::uint32_t>& to);
    void narrow_outward(const Capacity& capacity);
    bool place_groups(const ClusterState& state, Capacity& capacity, PoolId pool,
                      Transaction& attempt, const Shape& shape);
    bool place_apart(const ClusterState& state, const Capacity& capacity, PoolId pool,
                     Transaction& attempt, const Shape& shape, std::int64_t ranks);
    [[nodiscard]] bool is_taken(const Capacity& capacity, std::uint32_t slot) const;
    [[nodiscard]] bool is_anchored(const Capacity& capacity, TopologyLevel level,
                                   DomainId domain) const;
    [[nodiscard]] bool has_anchor_in(const Capacity& capacity, TopologyLevel level) const;

    struct Scope {
        ConstraintId constraint;
        bool is_built = false;
        NodeSet nodes;
    };
    TopologyRules wish_;  // of the pods under trial
    std::vector<NodeId> anchors_;
    bool is_scoped_ = false;
    std::vector<std::uint32_t> scope_slots_;
    std::vector<Scope> scopes_;
    std::vector<DomainId> candidates_;
    std::vector<Room> rooms_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> group_of_;      // by domain of the preferred level
    std::vector<std::uint32_t> group_stamp_;   // of group_of_, by domain
    std::vector<std::uint32_t> spread_stamp_;  // by domain of the spread level: counted
    std::uint32_t stamp_ = 0;
    std::vector<std::uint32_t> order_of_groups_;
    std::vector<std::uint32_t> picked_;
    std::vector<std::uint32_t> picked_outward_;
    std::vector<std::uint32_t> inside_;

    EligibilityCache eligibility_;
    Fragmentation fragmentation_;
    BestNode best_node_;
    std::vector<std::string_view> avoided_;
    std::vector<std::string_view> kept_off_;
    std::string_view only_model_;  // empty: any; what is tried now of several (placer_models.cpp)
    std::optional<WindowSet> barred_;
    std::vector<Transaction::Entry> log_;
    std::vector<PodId> order_;  // the pods, largest shape first, equal shapes together
    std::vector<Spot> chosen_;  // per position in order_
};

}  // namespace gpuctl
