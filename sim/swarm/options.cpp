#include "sim/swarm/options.hpp"

namespace gpuctl::sim {
namespace {

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
constexpr std::uint64_t kReservedModelsStream = 0x6b70746d;
constexpr std::uint64_t kCpuOnlyStream = 0x62657369;
constexpr std::uint64_t kUnsetPreemptibleStream = 0x756e7361;

void draw_cluster(Rng& rng, SwarmOptions& options) {
    Settings& cluster = options.settings.cluster;
    cluster.seed = rng.next();
    // The API server may be slow, so that requests of one term arrive in the next.
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
    options.settings.policy = draw_policy(rng);
}

void draw_node_features(SwarmOptions& options) {
    Settings& cluster = options.settings.cluster;
    Rng topology{cluster.seed ^ kTopologyStream};
    options.topology = topology.chance(1, 2);
    if (options.topology) put_in_racks(topology, options.settings.nodes);
    Rng cpu_only{cluster.seed ^ kCpuOnlyStream};
    options.cpu_only_jobs = cpu_only.chance(1, 4);
    for (NodeFacts& node : options.settings.nodes) {
        if (options.cpu_only_jobs) node.allocatable.cpu = CpuMilli{cpu_only.between(4'000, 10'000)};
    }
    Rng refusal{cluster.seed ^ kRefusalStream};
    if (refusal.chance(1, 4)) cluster.faults.bind_refused_per_mille = refusal.between(1, 400);
}

void draw_job_features(SwarmOptions& options) {
    const std::uint64_t seed = options.settings.cluster.seed;
    options.models = Rng{seed ^ kModelsStream}.chance(1, 3);
    options.roles = Rng{seed ^ kRolesStream}.chance(1, 3);
    options.ties = Rng{seed ^ kTiesStream}.chance(1, 3);
}

void draw_policy_features(SwarmOptions& options) {
    const std::uint64_t seed = options.settings.cluster.seed;
    Policy& policy = options.settings.policy;
    Rng maintenance{seed ^ kMaintenanceStream};
    options.maintenance = maintenance.chance(1, 3);
    if (options.maintenance) {
        draw_maintenance(maintenance, options.settings.start, options.settings.nodes, policy);
    }
    Rng speeds{seed ^ kSpeedsStream};
    options.speeds = speeds.chance(1, 2);
    if (options.speeds) {
        policy.resize_pays_within =
            Duration{speeds.chance(1, 4) ? 0 : speeds.between(1'000, 600'000)};
    }
    Rng budgets{seed ^ kBudgetStream};
    options.budgets = budgets.chance(1, 3);
    if (options.budgets) draw_budgets(budgets, options.settings.start, policy);
    Rng reserves{seed ^ kReserveStream};
    options.reserves = reserves.chance(1, 3);
    if (options.reserves) draw_reserves(reserves, policy);
    Rng guarantees{seed ^ kGuaranteeStream};
    options.guarantees = guarantees.chance(1, 3);
    if (options.guarantees) draw_guarantees(guarantees, policy);
    Rng models{seed ^ kReservedModelsStream};
    options.models_reserved = models.chance(1, 4);
    if (options.models_reserved) draw_reserved_models(models, policy);
    Rng preemptible_unset{seed ^ kUnsetPreemptibleStream};
    options.preemptible_unset = preemptible_unset.chance(1, 3);
    if (options.preemptible_unset) draw_victims(preemptible_unset, policy);
    Rng repair{seed ^ kRepairStream};
    if (repair.chance(3, 4)) policy.gang_repair_deadline = Duration{repair.between(0, 4'000)};
    Rng retention{seed ^ kRetentionStream};
    options.retention = retention.chance(1, 2);
    if (options.retention) {
        draw_retention(retention, policy);
        options.settings.cluster.drops_details = retention.chance(1, 2);
    }
}

}  // namespace

// Each feature has a stream of its own, so that a new feature changes no draw of the others.
SwarmOptions draw_options(Rng& rng) {
    SwarmOptions options;
    draw_cluster(rng, options);
    draw_node_features(options);
    draw_job_features(options);
    draw_policy_features(options);
    return options;
}

}  // namespace gpuctl::sim
