// Jobs and their features, each feature from a stream of its own (options.hpp).

#include "sim/swarm/options.hpp"

#include <algorithm>

namespace gpuctl::sim {

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
    // Often the amounts are the same, because the order shows between jobs with equal requests.
    const bool usual = rng.chance(1, 2);
    spec.cpu = usual ? CpuMilli{1'000} : CpuMilli{rng.between(100, 4'000)};
    spec.memory = usual ? Bytes{4LL << 30} : Bytes{rng.between(1, 8) << 30};
    spec.gpu.count = usual ? 1 : rng.between(0, 4);
    spec.gpu.mode = spec.gpu.count > 0 ? GpuMode::exclusive : GpuMode::none;
    spec.gpu.amount = whole_gpus(spec.gpu.count);
    spec.gpu.resource = "nvidia.com/gpu";
    if (spec.gpu.count > 0 && rng.chance(1, 3)) {  // a fraction of a GPU, often of a common size
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

void GangRoles::annotate(PodFacts& pod) const {
    const auto rank = static_cast<std::size_t>(pod.rank);
    if (rank >= of_rank.size()) return;
    pod.gang_min = size.ranks;
    pod.gang_roles = size.roles;
    pod.role = of_rank[rank];
}

// A leader, seldom of rank 0, and workers that are not all required.
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

// Ports are drawn from a small set, so that they conflict.
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
    for (const std::string& node :
         nodes) {  // a field requirement takes one value: one term per node
        if (!rng.chance(1, 2)) continue;
        const SelectorRequirement is_node{"metadata.name", SelectorOperator::in, {node}};
        volume.terms.push_back(SelectorTerm{{}, {is_node}, false});
    }
    ties.volumes.push_back(std::move(volume));
    return ties;
}

// Mostly diminishing speedups, sometimes a size slower than the one before.
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
    // Half of the jobs keep restart costs so high that a resize never pays.
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

// The two existing models, and sometimes one that no node has.
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

void draw_cpu_only(Rng& rng, JobSpec& spec) {
    const bool takes_none = rng.chance(1, 3);
    const CpuMilli cpu{rng.between(500, 4'000)};
    const bool is_preemptible = rng.chance(2, 3);
    if (!takes_none) return;
    spec.gpu = {};
    spec.cpu = cpu;
    spec.preemptible = spec.preemptible || is_preemptible;
}

}  // namespace gpuctl::sim
