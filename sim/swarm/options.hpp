#pragma once
// Swarm testing (Groce et al., ISSTA 2012): each seed draws its own cluster and policy, and
// switches some kinds of faults on and others off, so that common combinations do not hide rare
// ones.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "sim/simulation.hpp"

namespace gpuctl::sim {

struct SwarmOptions {
    SimulationSettings settings;
    bool nodes_get_lost = false;
    bool nodes_change = false;
    bool policy_changes = false;
    bool leadership_changes = false;
    bool restarts = false;
    bool topology = false;  // nodes are in racks, and jobs have topology rules
    bool maintenance = false;
    bool speeds = false;  // elastic jobs declare their speedup by size
    bool budgets = false;
    bool reserves = false;
    bool guarantees = false;         // some pools guarantee only while demand fits
    bool models_reserved = false;    // queues do not lend all of their guarantees of GPU models
    bool models = false;             // some jobs accept several GPU models
    bool roles = false;              // gangs have roles, and not all ranks are required
    bool retention = false;          // few finished jobs are kept, and not for long
    bool ties = false;               // pods of some jobs have host ports or node-bound volumes
    bool cpu_only_jobs = false;      // nodes have few cores, and many jobs request no GPU
    bool preemptible_unset = false;  // some jobs do not state whether they are preemptible
};

// The roles of a gang (ADR 0026), as annotations of its pods.
struct GangRoles {
    GangSize size;
    std::vector<std::string> of_rank;
    void annotate(PodFacts& pod) const;
};

// What binds a job's pods to nodes: host ports, and volumes that few nodes can access.
struct NodeTies {
    std::vector<HostPort> ports;
    std::vector<VolumeRule> volumes;
    void annotate(PodFacts& pod) const;
};

// The GPU models of all nodes.
inline constexpr const char* kModels[] = {"A100", "H100"};

SwarmOptions draw_options(Rng& rng);

// draw_nodes.cpp
NodeFacts draw_node(Rng& rng, std::int64_t number);
Faults draw_faults(Rng& rng);
void put_in_racks(Rng& rng, std::vector<NodeFacts>& nodes);
// The node shrunk, grown, with another model, or cordoned without its taint.
NodeFacts draw_change(Rng& rng, NodeFacts node);

// draw_policy.cpp. Each feature has a stream of its own, so that worlds without the feature stay
// unchanged.
Policy draw_policy(Rng& rng);
// Windows around `now`, and the drain mode of unhealthy nodes.
void draw_maintenance(Rng& rng, Instant now, const std::vector<NodeFacts>& nodes, Policy& policy);
// Budgets of GPU time whose periods begin at `start`.
void draw_budgets(Rng& rng, Instant start, Policy& policy);
// GPUs reserved for jobs that grow with demand.
void draw_reserves(Rng& rng, Policy& policy);
void draw_guarantees(Rng& rng, Policy& policy);
void draw_retention(Rng& rng, Policy& policy);
void draw_reserved_models(Rng& rng, Policy& policy);
// Pools that preempt only jobs marked as preemptible.
void draw_victims(Rng& rng, Policy& policy);

// draw_jobs.cpp. Each feature has a stream of its own here, too.
JobSpec draw_job(Rng& rng, std::uint64_t number);  // `number` makes its name unique
void draw_topology(Rng& rng, JobSpec& spec);
// The speedup of an elastic job by size.
void draw_speeds(Rng& rng, JobSpec& spec);
// Further GPU models that the job accepts.
void draw_models(Rng& rng, JobSpec& spec);
// nullopt: its ranks have no roles.
std::optional<GangRoles> draw_roles(Rng& rng, const JobSpec& spec);
NodeTies draw_ties(Rng& rng, const std::vector<std::string>& nodes);
// Sometimes removes the GPUs of the job.
void draw_cpu_only(Rng& rng, JobSpec& spec);

}  // namespace gpuctl::sim
