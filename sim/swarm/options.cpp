#include "sim/swarm/options.hpp"

#include <algorithm>

namespace gpuctl::sim {
namespace {

NodeFacts draw_node(Rng& rng, std::int64_t number) {
    NodeFacts node;
    node.name = "node-" + std::to_string(number);
    node.pool = rng.chance(1, 3) ? "training" : "default";
    // A label that somebody forgot: the pool's own jobs then select other nodes of it.
    if (node.pool != "default" && !rng.chance(1, 8)) node.labels["runwhere.ai/pool"] = node.pool;
    node.gpu_model = kModels[rng.below(2)];
    node.allocatable.cpu = CpuMilli{rng.between(4'000, 64'000)};
    node.allocatable.memory = Bytes{rng.between(8, 512) << 30};
    node.allocatable.pods = rng.between(4, rng.chance(1, 3) ? 8 : 110);
    node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(rng.between(1, 8))}};
    return node;
}

Faults draw_faults(Rng& rng) {
    const auto sometimes = [&rng](std::int64_t most) {
        return rng.chance(1, 2) ? rng.between(0, most) : 0;
    };
    Faults faults;
    faults.bind_failed_per_mille = sometimes(rng.chance(1, 3) ? 800 : 300);
    faults.bind_unanswered_per_mille = sometimes(200);
    faults.create_failed_per_mille = sometimes(300);
    faults.delete_failed_per_mille = sometimes(600);
    faults.eviction_refused_per_mille = sometimes(500);
    faults.container_failed_per_mille = sometimes(200);
    return faults;
}

QueueOrder draw_order(Rng& rng) {
    constexpr QueueOrder others[] = {QueueOrder::fifo, QueueOrder::priority, QueueOrder::capacity,
                                     QueueOrder::shortest};
    return rng.chance(1, 2) ? QueueOrder::fair_share : others[rng.below(4)];
}

// Limits of a queue that may hold `most` GPUs or more.
void draw_limits(Rng& rng, QueuePolicy& queue, std::int64_t most) {
    queue.order = draw_order(rng);
    if (rng.chance(1, 4)) queue.borrowing_limit = whole_gpus(rng.between(0, most));
    if (rng.chance(1, 3)) {
        const std::int64_t promised = queue.guaranteed.value() / kGpuMilliPerGpu;
        queue.lending_limit = whole_gpus(rng.between(0, promised));
    }
    if (rng.chance(1, 5)) queue.jobs_maximum = rng.between(1, 3);
    if (rng.chance(1, 4)) {
        queue.models.push_back({kModels[rng.below(2)], GpuMilli{}, whole_gpus(rng.between(1, 4))});
        if (rng.chance(1, 3)) queue.models[0].guaranteed = whole_gpus(1);
    }
    if (rng.chance(1, 6)) queue.gpus_per_job_maximum = whole_gpus(rng.between(2, 8));
}

constexpr std::uint64_t kMomentsStream = 0x6d6f6d65;
constexpr std::uint64_t kKeepStream = 0x6b656570;

// From a copy, too: the pool keeps nothing for those whom nothing can be promised, or soon.
void draw_keeping(Rng copy, BackfillPolicy& policy) {
    Rng rng{copy.next() ^ kKeepStream};
    policy.keep_after = Duration{};
    if (rng.chance(1, 2)) policy.keep_after = Duration::seconds(rng.between(1, 40));
}

// From a copy: what a seed draws after it stays as it was before there were moments.
void draw_moments(Rng copy, PreemptionPolicy& policy) {
    Rng rng{copy.next() ^ kMomentsStream};
    if (rng.chance(1, 3)) policy.mode = PreemptionMode::due;
    policy.slowdown_percent = static_cast<std::int32_t>(rng.between(100, 500));
    if (rng.chance(1, 2)) policy.makespan_percent = static_cast<std::int32_t>(rng.between(10, 150));
    if (rng.chance(1, 2)) policy.wait_target = Duration::seconds(rng.between(2, 200));
}

// default | small | urgent, with chance 1/2 "small" beside "lab" below "team", and "deep" below a
// queue of its own below "team".
PoolPolicy draw_pool(Rng& rng, const char* name) {
    PoolPolicy pool{name, "", {}, draw_order(rng), {}};
    if (rng.chance(1, 2)) pool.backfill.head = HeadOfLine::step_aside;
    pool.backfill.patience = Duration::seconds(rng.between(1, 60));
    draw_keeping(rng, pool.backfill);
    if (rng.chance(1, 2)) {  // with queues that go by run time, or it would have no say
        pool.preemption = {PreemptionMode::shortest, static_cast<std::int32_t>(rng.between(0, 100)),
                           static_cast<std::int32_t>(rng.between(100, 200))};
        draw_moments(rng, pool.preemption);
        if (rng.chance(2, 3)) pool.order = QueueOrder::shortest;
        pool.backfill.patience = Duration::seconds(rng.between(1, 600));
    }
    const bool goes_by_run_time = pool.preemption.stops_by_run_time();
    pool.queues.push_back({"default", 0, 1, whole_gpus(0), std::nullopt});
    if (goes_by_run_time) pool.queues.back().order = QueueOrder::shortest;
    pool.queues.push_back(
        {"small", 0, 2, whole_gpus(rng.between(0, 2)), whole_gpus(rng.between(2, 8))});
    draw_limits(rng, pool.queues.back(), 6);
    if (goes_by_run_time) pool.queues.back().order = QueueOrder::shortest;
    if (rng.chance(1, 2)) {
        pool.queues.push_back({"urgent", 10, 1, whole_gpus(0), std::nullopt});
    }
    if (rng.chance(1, 2)) return pool;
    pool.queues[1].parent = "team";
    const auto add = [&](const char* queue, const char* parent, std::int64_t guaranteed) {
        pool.queues.push_back(
            {queue, 0, rng.between(1, 3), whole_gpus(guaranteed), std::nullopt, parent});
        if (rng.chance(1, 2)) pool.queues.back().maximum = whole_gpus(rng.between(4, 10));
        draw_limits(rng, pool.queues.back(), 8);
    };
    add("team", "", 6);
    add("lab", "team", rng.between(0, 2));
    if (rng.chance(1, 2)) {
        add("group", "team", 2);
        add("deep", "group", rng.between(0, 2));
    }
    return pool;
}

constexpr std::uint64_t kTopologyStream = 0x746f706f;
constexpr std::uint64_t kMaintenanceStream = 0x6d61696e;
constexpr std::uint64_t kSpeedsStream = 0x73706565;
constexpr std::uint64_t kBudgetStream = 0x62756467;
constexpr std::uint64_t kReserveStream = 0x72657376;
constexpr std::uint64_t kModelsStream = 0x6d6f6465;
constexpr std::uint64_t kRefusalStream = 0x72656675;
constexpr std::uint64_t kRetentionStream = 0x72657465;
constexpr std::uint64_t kGuaranteeStream = 0x67756172;
constexpr std::uint64_t kRolesStream = 0x726f6c65;
constexpr std::uint64_t kTiesStream = 0x74696573;
constexpr std::uint64_t kRepairStream = 0x72657061;
constexpr std::uint64_t kKeptModelsStream = 0x6b70746d;
constexpr std::uint64_t kBesideStream = 0x62657369;
constexpr std::uint64_t kUnsaidStream = 0x756e7361;

void put_in_racks(Rng& rng, std::vector<NodeFacts>& nodes) {
    const std::int64_t racks = rng.between(1, 3);
    const bool has_blocks = rng.chance(1, 2);
    for (NodeFacts& node : nodes) {
        if (rng.chance(1, 8)) continue;  // nobody says where it stands
        const std::int64_t rack = rng.between(0, racks - 1);
        node.topology.rack = "rack-" + std::to_string(rack);
        if (has_blocks) node.topology.block = "block-" + std::to_string(rack % 2);
        if (rng.chance(1, 2)) {
            node.topology.nvlink = "island-" + std::to_string(2 * rack + rng.between(0, 1));
        }
    }
}

}  // namespace

Policy draw_policy(Rng& rng) {
    Policy policy;
    for (const char* name : {"default", "training"}) {
        policy.pools.push_back(draw_pool(rng, name));
    }
    if (rng.chance(1, 2)) policy.usage_half_life = Duration{rng.between(0, 20) * 60'000};
    if (rng.chance(1, 3)) {
        policy.ageing_step = 200'000;
        policy.ageing_every = Duration{rng.between(1'000, 30'000)};
    }
    if (rng.chance(1, 2)) {
        TenantPolicy tenant;
        tenant.name = "team-b";
        tenant.weight = rng.between(1, 3);
        tenant.gpu_maximum = whole_gpus(rng.between(1, 8));
        if (rng.chance(1, 2)) tenant.memory_maximum = Bytes{rng.between(8, 64) << 30};
        if (rng.chance(1, 3)) tenant.pools.push_back({"default", whole_gpus(rng.between(1, 6))});
        if (rng.chance(1, 4)) tenant.cpu_maximum = CpuMilli{rng.between(4'000, 32'000)};
        policy.tenants.push_back(std::move(tenant));
    }
    policy.pods_reserved_per_node = rng.between(0, 2);
    policy.gang_bind_deadline = Duration{rng.between(2'000, 30'000)};
    if (rng.chance(1, 2)) policy.run_time_protected = Duration{rng.between(0, 20'000)};
    policy.growth_pause = Duration{rng.between(0, 20'000)};
    policy.evictions_per_job_per_hour = static_cast<std::int32_t>(rng.between(0, 4));
    constexpr std::int32_t attempts[] = {1, 3, 10'000};
    policy.plan_attempts_max = attempts[rng.below(3)];
    return policy;
}

SwarmOptions draw_options(Rng& rng) {
    SwarmOptions options;
    Settings& cluster = options.settings.cluster;
    cluster.seed = rng.next();
    // A slow API server: what one term sent arrives in the next.
    cluster.api_latency_max = Duration{rng.between(1, rng.chance(1, 3) ? 6'000 : 300)};
    cluster.eviction_after = Duration{rng.between(1'000, 60'000)};
    cluster.training_run_time = Duration{rng.between(1'000, 60'000)};
    cluster.container_stop_max = Duration{rng.between(500, 30'000)};
    cluster.faults = draw_faults(rng);
    options.nodes_get_lost = rng.chance(1, 2);
    options.nodes_change = rng.chance(1, 2);
    options.policy_changes = rng.chance(1, 2);
    options.leadership_changes = rng.chance(1, 2);
    options.restarts = rng.chance(1, 2);
    const std::int64_t nodes = rng.between(1, 6);
    for (std::int64_t i = 0; i < nodes; ++i) options.settings.nodes.push_back(draw_node(rng, i));
    Policy& policy = options.settings.policy;
    policy = draw_policy(rng);
    Rng where{cluster.seed ^ kTopologyStream};
    options.topology = where.chance(1, 2);
    if (options.topology) put_in_racks(where, options.settings.nodes);
    Rng which{cluster.seed ^ kModelsStream};
    options.models = which.chance(1, 3);
    Rng when{cluster.seed ^ kMaintenanceStream};
    options.maintenance = when.chance(1, 3);
    if (options.maintenance) {
        draw_maintenance(when, options.settings.start, options.settings.nodes, policy);
    }
    Rng fast{cluster.seed ^ kSpeedsStream};
    options.speeds = fast.chance(1, 2);
    if (options.speeds) {
        policy.resize_pays_within = Duration{fast.chance(1, 4) ? 0 : fast.between(1'000, 600'000)};
    }
    Rng how_much{cluster.seed ^ kBudgetStream};
    options.budgets = how_much.chance(1, 3);
    if (options.budgets) {
        draw_budgets(how_much, options.settings.start, policy);
    }
    Rng how_many{cluster.seed ^ kReserveStream};
    options.reserves = how_many.chance(1, 3);
    if (options.reserves) draw_reserves(how_many, policy);
    Rng whose{cluster.seed ^ kGuaranteeStream};
    options.guarantees = whose.chance(1, 3);
    if (options.guarantees) draw_guarantees(whose, policy);
    Rng what{cluster.seed ^ kKeptModelsStream};
    options.models_kept = what.chance(1, 4);
    if (options.models_kept) draw_kept_models(what, policy);
    Rng who{cluster.seed ^ kRolesStream};
    options.roles = who.chance(1, 3);
    Rng to_what{cluster.seed ^ kTiesStream};
    options.ties = to_what.chance(1, 3);
    Rng beside{cluster.seed ^ kBesideStream};
    options.beside_gpus = beside.chance(1, 4);
    for (NodeFacts& node : options.settings.nodes) {
        if (options.beside_gpus) node.allocatable.cpu = CpuMilli{beside.between(4'000, 10'000)};
    }
    Rng unsaid{cluster.seed ^ kUnsaidStream};
    options.unsaid = unsaid.chance(1, 3);
    if (options.unsaid) draw_victims(unsaid, policy);
    Rng how_soon{cluster.seed ^ kRepairStream};
    if (how_soon.chance(3, 4)) policy.gang_repair_deadline = Duration{how_soon.between(0, 4'000)};
    Rng how_long{cluster.seed ^ kRetentionStream};
    options.retention = how_long.chance(1, 2);
    if (options.retention) {
        draw_retention(how_long, policy);
        cluster.drops_details = how_long.chance(1, 2);
    }
    Rng how_often{cluster.seed ^ kRefusalStream};
    if (how_often.chance(1, 4)) {
        cluster.faults.bind_refused_per_mille = how_often.between(1, 400);
    }
    return options;
}

void GangRoles::annotate(PodFacts& pod) const {
    const auto rank = static_cast<std::size_t>(pod.rank);
    if (rank >= of_rank.size()) return;
    pod.gang_min = size.ranks;
    pod.gang_roles = size.roles;
    pod.role = of_rank[rank];
}

// A leader that is seldom the first, and workers of whom not all are needed.
std::optional<GangRoles> draw_roles(Rng& rng, const JobSpec& spec) {
    const std::int32_t ranks = spec.replicas_min;
    if (spec.kind != JobKind::training || ranks < 2 || spec.replicas_max > ranks) {
        return std::nullopt;
    }
    GangRoles roles;
    const auto leader = static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(ranks)));
    std::int32_t workers = 0;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
        const bool is_worker = rank != leader && !rng.chance(1, 6);
        if (is_worker) ++workers;
        roles.of_rank.emplace_back(rank == leader ? "leader" : is_worker ? "worker" : "");
    }
    roles.size.ranks = static_cast<std::int32_t>(rng.between(1, ranks));
    roles.size.add({"leader", 1});
    const auto least = static_cast<std::int32_t>(rng.between(0, workers));
    if (least > 0) roles.size.add({"worker", least});
    return roles;
}

void NodeTies::annotate(PodFacts& pod) const {
    pod.request.host_ports = ports;
    pod.rules.volumes = volumes;
}

namespace {

// Few of them, so that they meet.
std::vector<HostPort> draw_ports(Rng& rng) {
    std::vector<HostPort> ports;
    if (!rng.chance(1, 2)) return ports;
    constexpr const char* addresses[] = {"0.0.0.0", "10.0.0.1", "10.0.0.2"};
    for (std::int64_t left = rng.between(1, 2); left > 0; --left) {
        ports.push_back({rng.chance(1, 6) ? "UDP" : "TCP", rng.chance(2, 3) ? 29'500 : 8'080,
                         rng.chance(1, 2) ? addresses[0] : addresses[rng.below(3)]});
    }
    std::sort(ports.begin(), ports.end());
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
    return ports;
}

}  // namespace

NodeTies draw_ties(Rng& rng, const std::vector<std::string>& nodes) {
    NodeTies ties;
    ties.ports = draw_ports(rng);
    if (!rng.chance(1, 3)) return ties;
    VolumeRule volume{"data", {}};
    for (const std::string& node : nodes) {  // a field takes one value: a term for each
        if (!rng.chance(1, 2)) continue;
        const SelectorRequirement is_node{"metadata.name", SelectorOperator::in, {node}};
        volume.terms.push_back(SelectorTerm{{}, {is_node}, false});
    }
    ties.volumes.push_back(std::move(volume));
    return ties;
}

// Mostly slower and slower growth, sometimes a size that is slower than the one before.
void draw_speeds(Rng& rng, JobSpec& spec) {
    if (spec.replicas_min >= spec.replicas_max || rng.chance(1, 4)) return;
    std::int32_t milli = kSpeedOfOne;
    spec.speeds.push_back({spec.replicas_min, milli});
    for (std::int32_t ranks = spec.replicas_min + 1; ranks <= spec.replicas_max; ++ranks) {
        milli += static_cast<std::int32_t>(rng.between(-200, 1'000));
        milli = std::max(milli, 100);
        if (rng.chance(2, 3)) spec.speeds.push_back({ranks, milli});
    }
    if (rng.chance(1, 4)) spec.run_time_expected = Duration{};
    // Dear enough restarts that nobody changes size are the other half.
    if (rng.chance(1, 2)) spec.restart_cost = Duration{rng.between(1, 1'000)};
}

void draw_topology(Rng& rng, JobSpec& spec) {
    constexpr TopologyLevel together[] = {TopologyLevel::host, TopologyLevel::nvlink,
                                          TopologyLevel::rack, TopologyLevel::rack,
                                          TopologyLevel::block};
    constexpr TopologyLevel apart[] = {TopologyLevel::host, TopologyLevel::host,
                                       TopologyLevel::nvlink, TopologyLevel::rack};
    TopologyRules rules;
    if (rng.chance(1, 3)) rules.required = together[rng.below(5)];
    if (rng.chance(1, 4)) rules.preferred = together[rng.below(5)];
    if (rng.chance(1, 4)) rules.spread = apart[rng.below(4)];
    if (spec.kind != JobKind::training) rules.required = TopologyLevel::none;
    if (problem_with(rules).empty()) spec.topology = rules;
}

// Of the two that there are, and sometimes of one that is nowhere.
void draw_models(Rng& rng, JobSpec& spec) {
    if (!rng.chance(1, 2)) return;
    const std::size_t first = rng.below(2);
    const bool has_ghost = rng.chance(1, 4);
    if (spec.gpu.amount == GpuMilli{} || spec.topology.any()) return;
    spec.gpu.model.clear();
    spec.gpu_type = has_ghost ? "B200" : kModels[first];
    if (has_ghost) spec.gpu_types_next.emplace_back(kModels[first]);
    spec.gpu_types_next.emplace_back(kModels[1 - first]);
}

NodeFacts draw_change(Rng& rng, NodeFacts node) {
    switch (rng.below(4)) {
        case 0: {
            const std::int64_t gpus = rng.between(0, 8);
            node.allocatable.gpus.clear();
            if (gpus > 0) node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(gpus)}};
            break;
        }
        case 1:
            node.allocatable.cpu = CpuMilli{rng.between(1'000, 64'000)};
            node.allocatable.pods = rng.between(2, 20);
            break;
        case 2:
            node.gpu_model = kModels[rng.below(2)];
            break;
        default:
            // The flag without its taint: the node controller adds that a moment later.
            node.unschedulable = !node.unschedulable;
    }
    return node;
}

JobSpec draw_job(Rng& rng, std::uint64_t number) {
    JobSpec spec;
    const std::uint64_t dice = rng.below(10);
    spec.kind = dice < 6   ? JobKind::training
                : dice < 8 ? JobKind::inference
                : dice < 9 ? JobKind::notebook
                           : JobKind::compute;
    spec.key = {rng.chance(1, 2) ? "team-a" : "team-b", "job-" + std::to_string(number)};
    spec.image = "repo/image:1";
    const auto replicas =
        spec.kind == JobKind::notebook ? 1 : static_cast<std::int32_t>(rng.between(1, 4));
    spec.replicas_min = spec.replicas_max = replicas;
    if (spec.kind == JobKind::training && rng.chance(1, 3)) {
        spec.replicas_max += static_cast<std::int32_t>(rng.between(1, 4));
    }
    spec.service.replicas = replicas;
    // Often the same amounts as others: jobs that ask alike are where order shows.
    const bool usual = rng.chance(1, 2);
    spec.cpu = usual ? CpuMilli{1'000} : CpuMilli{rng.between(100, 4'000)};
    spec.memory = usual ? Bytes{4LL << 30} : Bytes{rng.between(1, 8) << 30};
    spec.gpu.count = usual ? 1 : rng.between(0, 4);
    spec.gpu.mode = spec.gpu.count > 0 ? GpuMode::exclusive : GpuMode::none;
    spec.gpu.amount = whole_gpus(spec.gpu.count);
    spec.gpu.resource = "nvidia.com/gpu";
    if (spec.gpu.count > 0 && rng.chance(1, 3)) {  // a part of one, often of a size others have
        constexpr std::int64_t usual_parts[] = {250, 300, 500, 700};
        spec.gpu.mode = GpuMode::fraction;
        spec.gpu.count = 0;
        spec.gpu.amount =
            GpuMilli{rng.chance(2, 3) ? usual_parts[rng.below(4)] : rng.between(1, 999)};
    }
    if (spec.gpu.amount > GpuMilli{} && rng.chance(1, 5)) spec.gpu.model = kModels[rng.below(2)];
    spec.pool = rng.chance(1, 4) ? "training" : "";
    constexpr const char* queues[] = {"", "", "", "small", "small", "urgent", "lab", "deep"};
    spec.queue = queues[rng.below(8)];
    spec.priority = static_cast<JobPriority>(rng.below(3));
    spec.run_time_expected = Duration{rng.between(100, 40'000)};
    if (rng.chance(2, 3)) spec.run_time_max = spec.run_time_expected * rng.between(1, 3);
    spec.preemptible = spec.priority == JobPriority::low || rng.chance(1, 4);
    if (rng.chance(1, 3)) {
        spec.checkpoint_interval = Duration{rng.between(100, 10'000)};
        spec.restart_cost = Duration{rng.between(0, 5'000)};
    }
    return spec;
}

}  // namespace gpuctl::sim
