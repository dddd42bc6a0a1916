#pragma once
// Swarm: every seed has its own cluster and policy, and switches some kinds of trouble on and
// others off, so that rare combinations are not drowned by the common ones.

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
    bool topology = false;  // nodes are in racks, and jobs care
    bool maintenance = false;
    bool speeds = false;  // elastic jobs say how fast they are by size
    bool budgets = false;
    bool reserves = false;
    bool guarantees = false;   // in some pools, for those only who want no more
    bool models_kept = false;  // queues lend not all that they are guaranteed of GPU models
    bool models = false;       // some jobs take several GPU models
    bool roles = false;        // ranks of some gangs have roles, and not all of them are needed
    bool retention = false;    // few finished jobs are kept, and not for long
    bool ties = false;         // pods of some jobs have host ports, or volumes of some nodes
    bool beside_gpus = false;  // nodes have few cores, and much work takes no GPUs
    bool unsaid = false;       // users of some jobs do not say whether they may be stopped
};

// What the pods of a gang say of their roles (ADR 0026).
struct GangRoles {
    GangSize size;
    std::vector<std::string> of_rank;
    void annotate(PodFacts& pod) const;
};

// What ties a job's pods to nodes: ports that they listen at there, volumes that few nodes reach.
struct NodeTies {
    std::vector<HostPort> ports;
    std::vector<VolumeRule> volumes;
    void annotate(PodFacts& pod) const;
};

// Of which some jobs ask for one.
inline constexpr const char* kModels[] = {"A100", "H100"};

SwarmOptions draw_options(Rng& rng);
// One of the policies a world may have; a policy change draws another.
Policy draw_policy(Rng& rng);
// Another life of the same machine: shrunk, grown, of another model, cordoned without its taint.
NodeFacts draw_change(Rng& rng, NodeFacts node);
// What the job asks of racks; from a stream of its own, so that worlds without stay as they are.
void draw_topology(Rng& rng, JobSpec& spec);
// How fast an elastic job is by size; from a stream of its own, likewise.
void draw_speeds(Rng& rng, JobSpec& spec);
// The GPU models that it takes beside the first; from a stream of its own, likewise.
void draw_models(Rng& rng, JobSpec& spec);
// Nothing for a job whose ranks have none; from a stream of its own, likewise.
std::optional<GangRoles> draw_roles(Rng& rng, const JobSpec& spec);
// To which of these nodes the job's pods are tied, and how; from a stream of its own, likewise.
NodeTies draw_ties(Rng& rng, const std::vector<std::string>& nodes);
// Windows around `now`, and what becomes of unhealthy nodes; from a stream of its own, likewise.
void draw_maintenance(Rng& rng, Instant now, const std::vector<NodeFacts>& nodes, Policy& policy);
// Budgets of GPU time whose periods begin at `start`; likewise.
void draw_budgets(Rng& rng, Instant start, Policy& policy);
// GPUs for what grows with demand; likewise.
void draw_reserves(Rng& rng, Policy& policy);
// Whose guarantees hold; likewise.
void draw_guarantees(Rng& rng, Policy& policy);
// How many finished jobs are kept, and for how long; likewise.
void draw_retention(Rng& rng, Policy& policy);
// Which GPU models queues keep back; likewise.
void draw_kept_models(Rng& rng, Policy& policy);
// A job without GPUs instead, sometimes; from a stream of its own, likewise.
void draw_beside_gpus(Rng& rng, JobSpec& spec);
// Pools that stop for higher priority only what says that it may be; likewise.
void draw_victims(Rng& rng, Policy& policy);
// A job of a random kind; `number` makes its name unique.
JobSpec draw_job(Rng& rng, std::uint64_t number);

}  // namespace gpuctl::sim
