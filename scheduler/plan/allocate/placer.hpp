#pragma once
// Selects nodes, and devices for fractions of GPUs. One pod goes where the fragmentation cost is
// lowest (fragmentation.hpp); a gang goes to few nodes, all ranks or none. Jobs with topology rules
// (docs/adr/0019) are placed within domains: placer_topology.cpp.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/plan/allocate/best_node.hpp"
#include "scheduler/plan/allocate/eligibility.hpp"
#include "scheduler/plan/allocate/fragmentation.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Placer {
public:
    struct Spot {
        NodeId node;
        std::int32_t device = kNoDevice;
    };
    // The spot with the lowest cost for one pod of this shape; no node if it fits nowhere.
    Spot best(const ClusterState& state, const Capacity& capacity, PoolId pool, ShapeId id);

    // The tightest node of the pool for `ranks` pods of this shape together; none if no node has
    // room.
    NodeId tightest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    const Shape& shape, std::int64_t ranks);

    // Writes a node for each of `pods` to `out`, in their order; false (and `out` empty) if that is
    // impossible. If the first of `pods` is running, the whole gang is placed again and its present
    // nodes do not matter. For pods of one shape the search is complete. For several shapes a
    // second search follows if the first try fails; that search is complete within kSearchStepsMax
    // steps.
    bool place_all(const ClusterState& state, TrialCapacity trial, PoolId pool,
                   const std::vector<PodId>& pods, std::vector<Placement>& out);

    // The nodes that the rules of this shape and maintenance allow.
    const NodeSet& eligible(const ClusterState& state, const Shape& shape) {
        if (!barred_) return eligibility_.of(state, shape.constraint);
        return eligibility_.outside(state, shape.constraint, *barred_);
    }

    EligibilityCache& eligibility() { return eligibility_; }

    // Whether topology rules and GPU models allow the pod on the node, given its job's other pods.
    [[nodiscard]] bool keeps_topology(const ClusterState& state, PodId pod, NodeId node);

    // Later placements avoid nodes with these GPU models. The names must outlive those placements.
    void avoid(const std::vector<std::string_view>& models) {
        avoided_ = models;
        avoided_.insert(avoided_.end(), barred_models_.begin(), barred_models_.end());
    }
    [[nodiscard]] const std::vector<std::string_view>& avoided() const { return avoided_; }
    // Later placements avoid these models in addition to those of avoid(): their remaining GPUs are
    // reserved for another job.
    void bar_models(const std::vector<std::string_view>& models) { barred_models_ = models; }
    [[nodiscard]] const std::vector<std::string_view>& barred_models() const {
        return barred_models_;
    }
    // Later placements stay outside these windows; absent: outside windows that have begun.
    void keep_outside(std::optional<WindowSet> windows) { barred_ = windows; }
    [[nodiscard]] std::optional<WindowSet> outside() const { return barred_; }

    // Limit for tries of one pod on one node. It is sufficient for any case of up to about eight
    // ranks on eight nodes; beyond that a mixed gang may be refused although a placement exists.
    static constexpr std::int64_t kSearchStepsMax = 20'000;

private:
    // Places all pods with the current GPU model. place_all() calls it for one model after the
    // other.
    bool place_now(const ClusterState& state, TrialCapacity trial, PoolId pool,
                   const std::vector<PodId>& pods, std::vector<Placement>& out);
    NodeId roomiest(const ClusterState& state, const Capacity& capacity, PoolId pool,
                    const Shape& shape, std::int64_t ranks, std::int64_t& fitting);
    [[nodiscard]] static bool runs_now(const ClusterState& state, PodId pod) {
        return state.pod(pod).bind.state == BindState::bound;
    }
    [[nodiscard]] bool is_avoided(const ClusterState& state, std::uint32_t slot) const;
    NodeId least_free_gpus(const Capacity& capacity, PoolId pool, const Shape& shape,
                           const NodeSet& eligible, std::int64_t ranks) const;
    void sort_by_size(const ClusterState& state, const std::vector<PodId>& pods);
    bool place_greedily(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        Transaction& attempt);
    void take_ranks(const Capacity& capacity, Transaction& attempt, NodeId node, const Shape& shape,
                    std::int64_t ranks);
    bool search(const ClusterState& state, const Capacity& capacity, PoolId pool,
                Transaction& attempt, std::size_t next, std::int64_t& steps_left);
    // Places the pods of order_ on any allowed nodes; chosen_ has the result. The changes of the
    // attempt are not rolled back.
    bool place_order(const ClusterState& state, const Capacity& capacity, PoolId pool,
                     Transaction& attempt, std::int64_t& steps_left);
    bool place_ranks(const ClusterState& state, const Capacity& capacity, PoolId pool,
                     Transaction& attempt, ShapeId id, std::int64_t ranks);
    // The node with the lowest cost for one pod; none if it fits nowhere.
    NodeId cheapest(const ClusterState& state, const Capacity& capacity, PoolId pool, ShapeId id);
    std::int64_t take_while_cheap(const Capacity& capacity, Transaction& attempt, PoolId pool,
                                  NodeId node, const Shape& shape, std::int64_t ranks);
    void write_placements(const std::vector<PodId>& pods, std::vector<Placement>& out) const;

    // --- topology (placer_topology.cpp) ---
    // A domain to place in, or a node whose location is unknown.
    struct Group {
        DomainId domain;
        std::uint32_t first_slot = 0;
        std::int64_t ranks = 0;      // number of ranks that fit there
        std::int64_t gpus_free = 0;  // free GPUs on nodes with any free GPU
        bool is_anchored = false;    // other pods of the job are in this group
    };
    struct Room {
        std::uint32_t slot = 0;
        std::int64_t ranks = 0;
        std::uint32_t group = 0;
    };
    [[nodiscard]] const NodeSet& allowed(const ClusterState& state, const Shape& shape);
    void open_scope();  // fills scope_slots_
    void close_scope();
    bool place_in_domains(const ClusterState& state, TrialCapacity trial, PoolId pool,
                          const std::vector<PodId>& pods, std::vector<Placement>& out);
    Spot best_near_anchors(const ClusterState& state, const Capacity& capacity, PoolId pool,
                           PodId pod);
    bool place_together(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        Transaction& attempt, const Shape& shape);
    bool place_mixed(const ClusterState& state, const Capacity& capacity, PoolId pool,
                     Transaction& attempt, std::int64_t& steps_left);
    bool place_in_scope(const ClusterState& state, const Capacity& capacity, PoolId pool,
                        Transaction& attempt, std::int64_t& steps_left);
    // Domains of the required level that may have room for this many GPUs, tightest first.
    void list_domains(const Capacity& capacity, TopologyLevel level, std::int64_t gpus);
    void survey_rooms(const ClusterState& state, const Capacity& capacity, PoolId pool,
                      const Shape& shape, DomainId required);
    void count_room(const Capacity& capacity, const Shape& shape, std::uint32_t slot);
    // Selects as few groups as possible that hold all ranks into picked_. Returns their number; 0:
    // impossible.
    std::size_t pick_groups(const Capacity& capacity);
    std::size_t pick_fewest(const std::vector<std::uint32_t>& from, std::vector<std::uint32_t>& to);
    void narrow_outward(const Capacity& capacity);
    bool place_groups(const ClusterState& state, const Capacity& capacity, PoolId pool,
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
    TopologyRules wish_;  // rules of the pods that are placed now
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
    std::vector<std::string_view> barred_models_;
    // the model that is tried now (placer_models.cpp); empty: any model
    std::string_view only_model_;
    std::optional<WindowSet> barred_;
    std::vector<Transaction::Entry> log_;
    std::vector<PodId> order_;  // the pods, largest shape first, equal shapes together
    std::vector<Spot> chosen_;  // per position in order_
};

}  // namespace gpuctl
