#pragma once
// A random world from a seed, random actions in it, and the checks at every step and at the end. It
// uses no test framework: violations are values.
//
//     RandomWorld world{seed};
//     world.run(40);     random actions and faults, checked at every step
//     world.recover();   faults stop and nodes return: every queue must drain
//     world.violations()

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "sim/swarm/changes/changes.hpp"
#include "sim/swarm/checks/checker.hpp"
#include "sim/swarm/options.hpp"
#include "sim/swarm/restored_engine.hpp"

namespace gpuctl::sim {

inline constexpr int kActionsPerRun = 40;

// In a world with changes, people also change jobs, nodes and objects of the policy
// (sim/swarm/changes/). Its decisions are not those of the plain world of its seed.
enum class WorldKind : std::uint8_t { plain, with_changes };

class RandomWorld {
public:
    // `progress` receives the number of steps so far, for a parent process that detects a crash.
    // `also` is called after every step.
    explicit RandomWorld(std::uint64_t seed, volatile std::uint64_t* progress = nullptr,
                         Simulation::Observer also = {}, WorldKind kind = WorldKind::plain);

    void run(int actions);
    void recover();

    void submit();
    void submit_again();  // under the name of a finished job
    void check_now();
    [[nodiscard]] Simulation& simulation() { return simulation_; }
    [[nodiscard]] const std::vector<Violation>& violations() const { return checker_.violations(); }
    [[nodiscard]] std::uint64_t violation_step() const { return checker_.first_step(); }
    // Counts of the run so far, including the figures of the virtual cluster.
    [[nodiscard]] Probes probes() const;
    [[nodiscard]] ChangeProbes change_probes() const {
        return changes_ ? changes_->probes() : ChangeProbes{};
    }

private:
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    void act();
    void start_some_work();
    void disturb_node();
    void change_node();
    void change_leader();
    void restart();
    void remove_a_job();
    void kill_a_container();
    void change_health();
    void change_policy(Policy policy);
    void read_changed_jobs();
    void remove(const ObjectKey& key);
    void check_recovery();
    void check_restored_engine();
    void check_end();
    [[nodiscard]] bool is_possible(const JobSpec& spec) const;
    [[nodiscard]] SimulationSettings settings();
    const std::string& any_node() { return node_names_[rng_.below(node_names_.size())]; }

    Rng rng_;
    SwarmOptions options_;
    Rng topology_rng_;
    Rng models_rng_;
    Rng maintenance_rng_;
    Rng speeds_rng_;
    Rng budget_rng_;
    Rng reserve_rng_;
    Rng guarantee_rng_;
    Rng reserved_models_rng_;
    Rng roles_rng_;
    Rng retention_rng_;
    Rng ties_rng_;
    Rng cpu_only_rng_;
    Rng unset_preemptible_rng_;
    Checker checker_;
    std::optional<Changes> changes_;
    volatile std::uint64_t* progress_;
    Simulation::Observer also_;
    std::vector<std::string> node_names_;
    std::map<std::string, NodeFacts> nodes_;       // as configured
    std::map<std::string, NodeFacts> nodes_away_;  // as they were before they left
    std::map<ObjectKey, JobSpec> acknowledged_;    // acknowledged and not deleted
    std::map<ObjectKey, GangRoles> roles_;         // of all jobs with roles
    std::map<ObjectKey, NodeTies> ties_;
    std::set<ObjectKey> preemptible_unset_;  // jobs that do not state whether they are preemptible
    std::uint64_t jobs_ = 0;
    ClusterFigures figures_;  // of clusters before a restart
    std::uint64_t rollbacks_ = 0;
    std::optional<int> restore_at_;  // the action from which on an engine is restored
    RestoredEngine restored_;
    Simulation simulation_;
};

// A whole run: actions and faults, then recovery.
struct SimulatedRun {
    Probes probes;
    ChangeProbes changes;
    std::vector<Violation> violations;
    std::uint64_t violation_step = 0;  // of the first
    std::uint64_t history_hash = 0;
    std::uint64_t decision_hash = 0;
};
SimulatedRun simulate_seed(std::uint64_t seed, int actions,
                           volatile std::uint64_t* progress = nullptr,
                           Simulation::Observer also = {}, WorldKind kind = WorldKind::plain);

}  // namespace gpuctl::sim
