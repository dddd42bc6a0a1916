// Views of nodes and pools.

#include <algorithm>
#include <map>

#include "scheduler/engine/view_parts.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {
namespace {

Resources used_on(const ClusterState& state, const NodeRow& node) {
    Resources used;
    std::map<std::string, GpuMilli> gpus;
    std::map<std::string, std::int64_t> extended;
    const Capacity& capacity = state.nodes.capacity();
    for (const PodId id : node.pods) {
        // nominated: it is not on the node yet
        if (state.pod(id).bind.state == BindState::nominated) continue;
        for (const Need& need : state.shape_of(id).needs) {
            switch (capacity.kind(need.column)) {
                case ColumnKind::cpu:
                    used.cpu += CpuMilli{need.amount};
                    break;
                case ColumnKind::memory:
                    used.memory += Bytes{need.amount};
                    break;
                case ColumnKind::pod_slots:
                    used.pods += need.amount;
                    break;
                case ColumnKind::gpu:
                case ColumnKind::gpu_part:
                    gpus[capacity.resource(need.column)] += GpuMilli{need.amount};
                    break;
                case ColumnKind::extended:
                    extended[capacity.resource(need.column)] += need.amount;
                    break;
                case ColumnKind::host_port:
                    break;  // host ports are shown for pods only
            }
        }
    }
    for (const auto& [resource, amount] : gpus) used.gpus.push_back({resource, amount});
    for (const auto& [resource, amount] : extended) used.extended.push_back({resource, amount});
    return used;
}

template <typename Amount>
void keep_beyond(std::vector<Amount>& used, const std::vector<Amount>& offered) {
    for (Amount& of : used) {
        for (const Amount& there : offered) {
            if (there.resource == of.resource) of.amount = of.amount - there.amount;
        }
    }
    std::erase_if(used, [](const Amount& of) { return of.amount <= decltype(of.amount){}; });
}

Resources beyond(Resources used, const Resources& offered) {
    used.cpu = std::max(used.cpu - offered.cpu, CpuMilli{});
    used.memory = std::max(used.memory - offered.memory, Bytes{});
    used.pods = std::max<std::int64_t>(used.pods - offered.pods, 0);
    keep_beyond(used.gpus, offered.gpus);
    keep_beyond(used.extended, offered.extended);
    return used;
}

std::optional<NodeView::Maintenance> maintenance_of(const ClusterState& state, NodeId id) {
    const NodeRow& node = state.node(id);
    std::optional<NodeView::Maintenance> first;
    const auto& windows = state.policy().windows;
    for (std::size_t i = 0; i < std::min(windows.size(), kWindowsMaximum); ++i) {
        if ((node.windows >> i & 1U) == 0) continue;
        const Occurrence next = next_occurrence(windows[i], state.now());
        if (!next.end.happened() || (first && first->begin <= next.begin)) continue;
        first = {windows[i].name, next.begin, next.end, next.begin <= state.now(),
                 windows[i].is_reservation()};
        for (const PodId pod : node.pods) {
            const PodRow& row = state.pod(pod);
            const bool is_owner =
                row.job.exists() && (reserved_for(state, state.job(row.job)) >> i & 1U) != 0;
            if (is_owner) continue;
            const bool is_over = row.ends_at.happened() && row.ends_at <= next.begin;
            if (!row.facts.ours || is_over || is_stopped_by(windows[i].drain, row.facts)) continue;
            ++first->pods_to_stay;
        }
    }
    return first;
}

// The sum over GPUs of all kinds; slices and replicas count by their share of a GPU.
GpuMilli whole_gpus_of(const NodeRow& node, const Resources& amounts) {
    GpuMilli sum;
    for (const GpuAmount& of : amounts.gpus) {
        sum += in_whole_gpus(
            {of.resource, of.amount, share_offered(node.facts.allocatable, of.resource)});
    }
    return sum;
}

GpuMilli gpus_nominated_on(const ClusterState& state, const NodeRow& node) {
    GpuMilli sum;
    for (const PodId id : node.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.bind.state == BindState::nominated) sum += state.shape_of(pod).gpus;
    }
    return sum;
}

// Amounts of GPUs of a node by state, in thousandths of a GPU. The rest of a GPU in partial use is
// free.
struct NodeGpus {
    GpuMilli total;
    GpuMilli used;  // at most the total
    GpuMilli nominated;
    [[nodiscard]] GpuMilli free() const { return std::max(total - used - nominated, GpuMilli{}); }
};

NodeGpus gpus_of(const ClusterState& state, NodeId id, const Resources& used,
                 const Resources& excess) {
    const NodeRow& node = state.node(id);
    const Capacity& capacity = state.nodes.capacity();
    NodeGpus out;
    for (std::size_t i = 0; i < capacity.columns(); ++i) {
        const auto column = static_cast<Column>(i);
        if (capacity.kind(column) != ColumnKind::gpu) continue;
        const std::string& resource = capacity.resource(column);
        out.total += in_whole_gpus({resource, GpuMilli{capacity.allocatable(column, id.value())},
                                    share_offered(node.facts.allocatable, resource)});
    }
    const GpuMilli fitting = whole_gpus_of(node, used) - whole_gpus_of(node, excess);
    out.used = std::clamp(fitting, GpuMilli{}, out.total);
    out.nominated = gpus_nominated_on(state, node);
    return out;
}

// GPUs that a pod with whole GPUs can get: rests of GPUs in partial use do not count.
GpuMilli completely_idle_on(const ClusterState& state, NodeId id) {
    const Capacity& capacity = state.nodes.capacity();
    const Resources& offered = state.node(id).facts.allocatable;
    GpuMilli sum;
    for (std::size_t i = 0; i < capacity.columns(); ++i) {
        const auto column = static_cast<Column>(i);
        const std::int64_t free = capacity.free(column, id.value());
        if (capacity.kind(column) != ColumnKind::gpu || free <= 0) continue;
        const std::string& resource = capacity.resource(column);
        sum += in_whole_gpus({resource, GpuMilli{free}, share_offered(offered, resource)});
    }
    return sum;
}

NodeView view_of(const ClusterState& state, NodeId id) {
    const NodeRow& node = state.node(id);
    NodeView view;
    view.facts = node.facts;
    view.used = used_on(state, node);
    view.excess = beyond(view.used, node.facts.allocatable);
    view.gpus_nominated = gpus_nominated_on(state, node);
    view.maintenance = maintenance_of(state, id);
    view.takes_work = takes_work(state, id);
    const NodeGpus gpus = gpus_of(state, id, view.used, view.excess);
    view.gpus = states_of(state, id, gpus.total, gpus.used, gpus.nominated);
    for (const PodId pod : node.pods) {
        if (!Seats::is_seat(state.pod(pod))) view.pods.push_back(view_parts::pod_view(state, pod));
    }
    std::sort(view.pods.begin(), view.pods.end(),
              [](const PodView& a, const PodView& b) { return a.facts.key < b.facts.key; });
    return view;
}

}  // namespace

std::vector<NodeView> list_nodes(const ClusterState& state) {
    std::vector<NodeView> out;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        if (state.node(id).known) out.push_back(view_of(state, id));
    }
    return out;
}

std::optional<NodeView> find_node(const ClusterState& state, std::string_view name) {
    const NodeId id = state.nodes.find_node(name);
    if (!id.exists() || !state.node(id).known) return std::nullopt;
    return view_of(state, id);
}

// Moves the reserve for work that grows with demand from available to reserved.
void set_reserve_aside(const PoolRow& pool, PoolView& view) {
    view.reserve = pool.reserve();
    if (view.reserve == GpuMilli{}) return;
    const GpuMilli left =
        std::max(pool.offered.gpus - view.reserve - (pool.held - pool.held_by_growing), GpuMilli{});
    const GpuMilli kept = std::max(view.gpus.available - left, GpuMilli{});
    view.gpus.available -= kept;
    view.gpus.reserved += kept;
}

// The part of the guarantees that the present nodes do not cover without the reserve.
GpuMilli uncovered(const ClusterState& state, const PoolRow& pool) {
    GpuMilli guaranteed_sum;
    for (const QueueId root : pool.roots) guaranteed_sum += state.queue(root).guaranteed;
    return std::max(guaranteed_sum - (pool.offered.gpus - pool.reserve()), GpuMilli{});
}

namespace {

// The view of a pool without the contributions of its nodes.
PoolView begin_pool(const ClusterState& state, PoolId id, const view_parts::WorkByQueue& work) {
    PoolView view;
    view.name = state.pool(id).name;
    view.description = state.pool(id).description;
    view.order = state.pool(id).order;
    view.queues = view_parts::queues_of(state, id, work);
    view.budgets = view_parts::budgets_in(state, id);
    return view;
}

}  // namespace

std::vector<PoolView> list_pools(Listing& listing) {
    const ClusterState& state = listing.state();
    const view_parts::WorkByQueue work = view_parts::queue_work(listing);
    const PoolSums& sums = listing.pools();
    std::vector<PoolView> out;
    for (const auto& [name, id] : state.tree.pools_by_name()) {
        if (!state.tree.pool_exists(id)) continue;
        PoolView& view = out.emplace_back(begin_pool(state, id, work));
        const PoolSum& sum = sums.of(id);
        for (const std::uint32_t slot : state.nodes.capacity().nodes_of(id)) {
            view.nodes.push_back(state.node(NodeId{slot}).facts.name);
        }
        std::sort(view.nodes.begin(), view.nodes.end());
        view.gpus_total = sum.total;
        view.gpus_used = sum.used;
        view.gpus_free = sum.free;
        view.gpus_free_largest_on_a_node = sum.largest_free();
        view.gpus = sum.states;
        view.gpus_excess = sum.excess;
        view.nodes_excess = sum.nodes_excess;
        view.nodes_closed = sum.nodes_closed;
        for (const auto& [model, of] : sum.by_model) view.gpu_models[model] = of.gpus;
        set_reserve_aside(state.pool(id), view);
        view.guarantees_uncovered = uncovered(state, state.pool(id));
    }
    return out;
}

// Counts over all rows. This is the reference for the sums above.
std::vector<PoolView> list_pools(const ClusterState& state) {
    const view_parts::WorkByQueue work = view_parts::queue_work(state);
    std::vector<PoolView> out;
    std::map<PoolId, std::size_t> position;
    for (const auto& [name, id] : state.tree.pools_by_name()) {
        if (!state.tree.pool_exists(id)) continue;
        position[id] = out.size();
        out.push_back(begin_pool(state, id, work));
    }
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (!node.known) continue;
        PoolView& view = out[position.at(node.pool)];
        view.nodes.push_back(name);
        const Resources used = used_on(state, node);
        const Resources excess = beyond(used, node.facts.allocatable);
        const NodeGpus gpus = gpus_of(state, id, used, excess);
        view.gpus_total += gpus.total;
        view.gpus_excess += whole_gpus_of(node, excess);
        view.nodes_excess += excess == Resources{} ? 0 : 1;
        view.gpus_used += gpus.used;
        view.gpus.add(states_of(state, id, gpus.total, gpus.used, gpus.nominated));
        if (state.maintenance.is_closed(id) || !node.facts.unhealthy.empty()) ++view.nodes_closed;
        if (takes_work(state, id)) {
            view.gpus_free += gpus.free();
            view.gpus_free_largest_on_a_node =
                std::max(view.gpus_free_largest_on_a_node, completely_idle_on(state, id));
        }
        if (gpus.total > GpuMilli{}) {
            view.gpu_models[node.facts.gpu_model] += whole_gpus_floor(gpus.total);
        }
    }
    for (const auto& [pool, at] : position) {
        set_reserve_aside(state.pool(pool), out[at]);
        out[at].guarantees_uncovered = uncovered(state, state.pool(pool));
    }
    return out;
}

}  // namespace gpuctl
