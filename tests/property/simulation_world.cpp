#include "property/simulation_world.hpp"

#include <algorithm>

namespace gpuctl::sim {

SimulationSettings RandomWorld::make_settings() {
    SimulationSettings settings;
    Settings& cluster = settings.cluster;
    cluster.seed = rng_.next();
    cluster.api_latency_max = Duration{rng_.between(1, 300)};
    cluster.eviction_after = Duration{rng_.between(1'000, 60'000)};
    cluster.training_run_time = Duration{rng_.between(1'000, 60'000)};
    const auto sometimes = [this](std::int64_t most) {
        return rng_.chance(1, 2) ? rng_.between(0, most) : 0;
    };
    cluster.faults.bind_failed_per_mille = sometimes(300);
    cluster.faults.bind_unanswered_per_mille = sometimes(200);
    cluster.faults.create_failed_per_mille = sometimes(300);
    cluster.faults.delete_failed_per_mille = sometimes(300);
    cluster.faults.container_failed_per_mille = sometimes(200);
    may_lose_nodes_ = rng_.chance(2, 3);
    may_restart_ = rng_.chance(2, 3);

    const std::int64_t count = rng_.between(1, 6);
    for (std::int64_t i = 0; i < count; ++i) {
        NodeFacts node;
        node.name = "node-" + std::to_string(i);
        node.pool = rng_.chance(1, 3) ? "training" : "default";
        if (node.pool != "default") node.labels["runwhere.ai/pool"] = node.pool;
        node.allocatable.cpu = CpuMilli{rng_.between(4'000, 64'000)};
        node.allocatable.memory = Bytes{rng_.between(8, 512) << 30};
        node.allocatable.pods = rng_.between(5, 110);
        node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(rng_.between(1, 8))}};
        node_names_.push_back(node.name);
        nodes_[node.name] = node;
        settings.nodes.push_back(node);
    }
    for (const char* pool : {"default", "training"}) {
        PoolPolicy policy{pool, "", {}};
        policy.queues.push_back({"default", 0, 1, whole_gpus(0), std::nullopt});
        policy.queues.push_back({"small", 0, 2, whole_gpus(1), whole_gpus(rng_.between(2, 8))});
        settings.policy.pools.push_back(policy);
    }
    if (rng_.chance(1, 2)) {
        TenantPolicy tenant;
        tenant.name = "team-b";
        tenant.gpu_maximum = whole_gpus(rng_.between(1, 8));
        settings.policy.tenants.push_back(tenant);
    }
    settings.policy.gang_bind_deadline = Duration{rng_.between(2'000, 30'000)};
    return settings;
}

void RandomWorld::submit() {
    JobSpec spec;
    const std::uint64_t dice = rng_.below(10);
    spec.kind = dice < 6   ? JobKind::training
                : dice < 8 ? JobKind::inference
                : dice < 9 ? JobKind::notebook
                           : JobKind::compute;
    spec.key = {rng_.chance(1, 2) ? "team-a" : "team-b", "job-" + std::to_string(++jobs_)};
    spec.image = "repo/image:1";
    const auto replicas =
        spec.kind == JobKind::notebook ? 1 : static_cast<std::int32_t>(rng_.between(1, 4));
    spec.replicas_min = spec.replicas_max = replicas;
    spec.service.replicas = replicas;
    spec.cpu = CpuMilli{rng_.between(100, 4'000)};
    spec.memory = Bytes{rng_.between(1, 8) << 30};
    spec.gpu.count = rng_.between(0, 4);
    spec.gpu.mode = spec.gpu.count > 0 ? GpuMode::exclusive : GpuMode::none;
    spec.gpu.amount = whole_gpus(spec.gpu.count);
    spec.gpu.resource = "nvidia.com/gpu";
    spec.pool = rng_.chance(1, 4) ? "training" : "";
    spec.queue = rng_.chance(1, 4) ? "small" : "";
    spec.priority = static_cast<JobPriority>(rng_.below(3));
    spec.run_time_expected = Duration{rng_.between(100, 40'000)};
    // Some can never start, as such things are after a cluster shrank or a quota was lowered.
    const std::optional<Error> never = preflight(simulation_.engine().state(), spec);
    if (never) impossible_.insert(spec.key);
    acknowledged_[spec.key] = spec.kind;
    simulation_.submit(std::move(spec));
}

void RandomWorld::remove(const ObjectKey& key) {
    acknowledged_.erase(key);
    simulation_.remove(key, rng_.chance(1, 4));
}

void RandomWorld::act() {
    const std::uint64_t dice = rng_.below(20);
    if (dice < 9) {
        for (std::int64_t i = rng_.between(1, 4); i > 0; --i) submit();
    } else if (dice < 11 && !acknowledged_.empty()) {
        auto victim = acknowledged_.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(rng_.below(acknowledged_.size())));
        remove(ObjectKey{victim->first});
    } else if (dice < 12) {
        simulation_.disturb(NodeCordoned{any_node(), rng_.chance(1, 2)});
    } else if (dice < 15 && may_lose_nodes_) {
        const std::string node = any_node();
        switch (rng_.below(4)) {
            case 0:
                simulation_.disturb(NodeLost{node});
                ++probes.nodes_lost;
                break;
            case 1:
                simulation_.disturb(NodeReturns{node});
                break;
            case 2:
                simulation_.disturb(NodeLeaves{node});
                nodes_away_[node] = nodes_.at(node);
                ++probes.nodes_left;
                break;
            default:
                for (const auto& [name, facts] : nodes_away_) {
                    simulation_.disturb(NodeJoins{facts});
                }
                nodes_away_.clear();
        }
    } else if (dice < 18 && may_restart_) {
        if (rng_.chance(1, 3)) {
            simulation_.restart_all();
            // Comes back as configured: with every node.
            nodes_away_.clear();
            ++probes.full_restarts;
        } else {
            simulation_.restart_scheduler(rng_.chance(1, 2));
            ++probes.scheduler_restarts;
        }
    } else if (dice < 19) {
        const std::vector<JobView> jobs = list_jobs(simulation_.engine().state(), {});
        if (jobs.empty()) return;
        const JobView& job = jobs[rng_.below(jobs.size())];
        if (!job.pods.empty()) simulation_.disturb(ContainerKilled{job.pods[0].facts.key});
    }
}

void RandomWorld::observe(const Engine& engine, const Input& input,
                          const std::vector<Effect>& effects) {
    for (const Violation& violation : verify(engine.state())) {
        fail("after input " + std::to_string(static_cast<std::uint64_t>(input.sequence)) + ": " +
             violation.id + " " + violation.what);
    }
    if (const auto* outcome = std::get_if<BindOutcome>(&input.event)) {
        if (outcome->result == BindResult::elsewhere) fail("two binds of one pod: " + outcome->uid);
    }
    for (const Effect& effect : effects) {
        if (const auto* started = std::get_if<ReportStarted>(&effect)) {
            if (started->pods.size() > 1) ++probes.gangs_started;
        }
    }
    probes.gang_rollbacks = std::max(probes.gang_rollbacks, engine.figures().gang_rollbacks);
}

void RandomWorld::check_moment() {
    const std::vector<JobView> jobs = list_jobs(simulation_.engine().state(), {});
    for (const auto& [key, kind] : acknowledged_) {
        const bool known = std::any_of(jobs.begin(), jobs.end(),
                                       [&](const JobView& job) { return job.key == key; });
        if (!known) fail("acknowledged job " + to_string(key) + " is lost");
    }
    if (simulation_.cluster().figures().kubelet_rejections > 0) {
        fail("a kubelet turned a pod of ours away: it did not fit");
    }
    if (simulation_.plans_in_a_row_max() > 50) fail("planning went on and on at one moment");
}

bool RandomWorld::is_over(const JobView& job) {
    return std::all_of(job.pods.begin(), job.pods.end(),
                       [](const PodView& pod) { return is_terminal(pod.facts.phase); }) &&
           (job.status == "Succeeded" || job.status == "Failed");
}

}  // namespace gpuctl::sim
