// Examines every node of a pool for one shape. Only explanations do this: planning visits only
// nodes that may fit.

#include <algorithm>
#include <boost/container/flat_map.hpp>
#include <map>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/explain/explain.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {
namespace {

// Nodes by result. They are counted by number while all nodes are examined; the words are added
// afterwards.
struct Tallies {
    std::map<std::string, std::int64_t> refusals;
    boost::container::flat_map<std::int64_t, std::int64_t> with_room;  // by ranks that fit
    std::vector<std::int64_t> missing;                                 // by need of the shape
    std::int64_t ports_taken = 0;
};

// Consecutive nodes with the same columns and the same free amounts. Most nodes of a large uniform
// pool are alike, so one of them is examined for all.
struct Alike {
    std::uint32_t slot = NodeSet::kEnd;  // slot of the first node
    std::int64_t count = 0;
};

// Decides whether nodes are equal. Shared devices are not compared: a node with one is never equal.
class Likeness {
public:
    Likeness(const Capacity& capacity, const Needs& needs)
        : capacity_(capacity), shares_devices_(capacity.part_of(needs) != nullptr) {
        for (const Need& need : needs) {
            if (is_host_port(need.column)) {
                ports_.push_back(need.column);
            } else {
                columns_.push_back(capacity.amounts(need.column));
            }
        }
    }
    [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const {
        if (shares_devices_) return false;
        for (const Column port : ports_) {
            if (capacity_.free(port, a) != capacity_.free(port, b)) return false;
        }
        return std::all_of(columns_.begin(), columns_.end(), [=](const Capacity::Amounts& column) {
            return column.free[a] == column.free[b] &&
                   column.allocatable[a] == column.allocatable[b];
        });
    }

private:
    const Capacity& capacity_;
    bool shares_devices_;
    std::vector<Capacity::Amounts> columns_;
    std::vector<Column> ports_;
};

// Counts all missing resources, not only the first, as the NodeResourcesFit plugin of
// kube-scheduler reports them. Host ports are checked before.
void tally_missing(const Capacity& capacity, Alike nodes, const Needs& needs, Tallies& tallies) {
    const bool is_port_taken = std::any_of(needs.begin(), needs.end(), [&](const Need& need) {
        return is_host_port(need.column) && capacity.usable(need.column, nodes.slot) < need.amount;
    });
    if (is_port_taken) {
        tallies.ports_taken += nodes.count;
        return;
    }
    for (std::size_t i = 0; i < needs.size(); ++i) {
        if (capacity.usable(needs[i].column, nodes.slot) < needs[i].amount) {
            tallies.missing[i] += nodes.count;
        }
    }
}

// Nodes with room for some of the ranks have a line, too, so that the lines add up to the pool.
std::vector<NodeTally> in_words(const Capacity& capacity, const Needs& needs, Tallies tallies) {
    std::map<std::string, std::int64_t>& lines = tallies.refusals;
    for (const auto& [ranks, nodes] : tallies.with_room) {
        lines["room for " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks")] = nodes;
    }
    if (tallies.ports_taken > 0) {
        lines["node(s) didn't have free ports for the requested pod ports"] = tallies.ports_taken;
    }
    for (std::size_t i = 0; i < needs.size(); ++i) {
        if (tallies.missing[i] == 0) continue;
        lines[needs[i].column == Column::pod_slots
                  ? "Too many pods"
                  : "Insufficient " + capacity.resource(needs[i].column)] = tallies.missing[i];
    }
    std::vector<NodeTally> out;
    for (const auto& [message, nodes] : lines) out.push_back({message, nodes});
    return out;
}

// The order of needs in a report: GPUs, then CPU, memory, pod slots, the rest.
int story_order(ColumnKind kind) {
    switch (kind) {
        case ColumnKind::gpu:
        case ColumnKind::gpu_part:
            return 0;
        case ColumnKind::cpu:
            return 1;
        case ColumnKind::memory:
            return 2;
        case ColumnKind::pod_slots:
            return 3;
        case ColumnKind::extended:
            return 4;
        case ColumnKind::host_port:
            return 5;
    }
    return 5;
}

std::int64_t usable_empty(const Capacity& capacity, Column column, std::uint32_t slot) {
    const std::int64_t amount = capacity.allocatable(column, slot);
    return column == Column::pod_slots ? amount - capacity.pod_slots_reserved() : amount;
}

void count_nodes(const Capacity& capacity, Alike nodes, const Shape& shape, std::int64_t ranks,
                 Tallies& tallies, NodeSurvey& out) {
    const std::uint32_t slot = nodes.slot;
    out.nodes_matching += nodes.count;
    std::int64_t so_far = ranks;
    std::int64_t so_far_empty = ranks;
    for (NodeSurvey::OfNeed& of : out.needs) {
        const std::int64_t usable =
            std::max<std::int64_t>(capacity.usable(of.need.column, slot), 0);
        const std::int64_t empty =
            std::max<std::int64_t>(usable_empty(capacity, of.need.column, slot), 0);
        of.usable_most = std::max(of.usable_most, usable);
        // A node that lacks a need before this one does not count for this one.
        if (so_far > 0) {
            of.nodes_asked += nodes.count;
            of.usable_on_one_node = std::max(of.usable_on_one_node, usable);
            if (usable >= of.need.amount) of.nodes_with_room += nodes.count;
        }
        if (so_far_empty > 0) {
            of.nodes_asked_empty += nodes.count;
            of.largest_node = std::max(of.largest_node, empty);
        }
        if (capacity.kind(of.need.column) == ColumnKind::gpu_part) {
            so_far = capacity.fitting_by(slot, of.need, so_far);
            so_far_empty = capacity.fitting_empty_by(slot, of.need, so_far_empty);
        } else {
            so_far = Capacity::times_in(usable, of.need.amount, so_far);
            so_far_empty = Capacity::times_in(empty, of.need.amount, so_far_empty);
        }
        of.ranks_fitting_so_far += so_far * nodes.count;
    }
    // After the last need, this is the number of ranks that fit by all needs.
    const std::int64_t fitting =
        has_fault(SeededFault::count_ranks_on_full_nodes) ? so_far_empty : so_far;
    out.ranks_fitting += fitting * nodes.count;
    if (fitting > 0) tallies.with_room[fitting] += nodes.count;
    out.ranks_fitting_empty += so_far_empty * nodes.count;
    const ColumnKind kind = capacity.kind(shape.index_column);
    if (kind != ColumnKind::gpu && kind != ColumnKind::gpu_part) return;
    const bool is_part = kind == ColumnKind::gpu_part;
    const Column gpus = is_part ? capacity.whole_column(shape.index_column) : shape.index_column;
    std::int64_t free = std::max<std::int64_t>(capacity.free(gpus, slot), 0);
    const std::int64_t total = capacity.allocatable(gpus, slot);
    if (is_part) {
        // an overcommitted node has no free capacity
        const bool is_overdrawn = capacity.free(gpus, slot) < 0;
        for (const OpenDevice& device : capacity.open_devices(shape.index_column, slot)) {
            if (!is_overdrawn) free += std::max<std::int64_t>(device.free, 0);
        }
        out.gpu_free_on_one_device =
            std::max(out.gpu_free_on_one_device, capacity.usable(shape.index_column, slot));
    }
    out.gpus_free += (has_fault(SeededFault::count_full_gpus_as_free) ? total : free) * nodes.count;
    out.gpus_total += total * nodes.count;
    out.gpus_free_on_one_node = std::max(out.gpus_free_on_one_node, free);
    out.gpus_largest_node = std::max(out.gpus_largest_node, total);
}

// What closes nodes to the job: windows that have begun, and windows that begin before it must end.
class ClosedWords {
public:
    ClosedWords(const ClusterState& state, WindowSet barred) {
        const auto& all = state.policy().windows;
        for (std::size_t i = 0; i < std::min(all.size(), kWindowsMaximum); ++i) {
            const WindowSet one = barred & (WindowSet{1} << i);
            if (one == 0) continue;
            if (!all[i].is_reservation()) maintenance_ |= one;
            if (next_occurrence(all[i], state.now()).begin <= state.now()) begun_ |= one;
        }
    }
    [[nodiscard]] std::string message(WindowSet of_node) const {
        const WindowSet begun = of_node & begun_;
        const bool is_maintenance = ((begun != 0 ? begun : of_node) & maintenance_) != 0;
        const std::string what =
            is_maintenance ? "closed for maintenance" : "reserved for other jobs";
        return begun != 0 ? "node(s) were " + what
                          : "node(s) will be " + what + " while the job may still run";
    }

private:
    WindowSet maintenance_ = 0;  // the others are reservations
    WindowSet begun_ = 0;
};

}  // namespace

NodeSurvey survey(const ClusterState& state, PoolId pool, const Shape& shape, std::int64_t ranks,
                  WindowSet barred, std::string_view model, const NodeSet* open) {
    NodeSurvey out;
    const Capacity& capacity = state.nodes.capacity();
    const PlacementRules& rules = state.rules_of(shape);
    for (const Need& need : shape.needs) out.needs.push_back({.need = need});
    std::stable_sort(out.needs.begin(), out.needs.end(), [&](const auto& a, const auto& b) {
        const int x = story_order(capacity.kind(a.need.column));
        const int y = story_order(capacity.kind(b.need.column));
        if (x != y) return x < y;
        if ((a.need.column == shape.index_column) != (b.need.column == shape.index_column)) {
            return a.need.column == shape.index_column;
        }
        return capacity.resource(a.need.column) < capacity.resource(b.need.column);
    });
    Tallies tallies;
    tallies.missing.resize(shape.needs.size());
    const Likeness is_alike{capacity, shape.needs};
    const ClosedWords closed_words{state, barred};
    Alike alike;
    const auto look = [&] {
        if (alike.count == 0) return;
        count_nodes(capacity, alike, shape, ranks, tallies, out);
        tally_missing(capacity, alike, shape.needs, tallies);
    };
    const auto look_later = [&](std::uint32_t slot) {
        if (alike.count == 0 || !is_alike(alike.slot, slot)) {
            look();
            alike = {slot, 0};
        }
        ++alike.count;
    };
    for (const std::uint32_t slot : capacity.nodes_of(pool)) {
        if (open != nullptr && model.empty() && open->contains(slot)) {
            ++out.nodes_pool;
            look_later(slot);
            continue;
        }
        const NodeFacts& facts = state.node(NodeId{slot}).facts;
        if (!model.empty() && !same_gpu_model(facts.gpu_model, model)) continue;
        ++out.nodes_pool;
        if (const NodeRefusal refusal = first_refusal(rules, facts); refusal != NodeRefusal::none) {
            if (has_fault(SeededFault::count_refusing_nodes)) ++out.nodes_matching;
            ++tallies.refusals[refusal_message(refusal, rules, facts)];
            if (refusal != NodeRefusal::sliced_gpus) continue;
            ++out.nodes_sliced;
            out.sliced_model = facts.gpu_model;
            continue;
        }
        if (const WindowSet closed = state.node(NodeId{slot}).windows & barred; closed != 0) {
            ++tallies.refusals[closed_words.message(closed)];
            continue;
        }
        look_later(slot);
    }
    look();
    out.tallies = in_words(capacity, shape.needs, std::move(tallies));
    out.ranks_fitting = std::min(out.ranks_fitting, ranks);
    out.ranks_fitting_empty = std::min(out.ranks_fitting_empty, ranks);
    return out;
}

}  // namespace gpuctl
