#pragma once
// A random world from a seed, a random life in it, and what must hold at every step and at the end.
// No test framework in it: violations are values.
//
//     RandomWorld world{seed};
//     world.live(40);         trouble, judged at every step
//     world.find_peace();     faults stop, what was taken comes back: every queue must drain
//     world.violations()

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "sim/swarm/judge.hpp"
#include "sim/swarm/options.hpp"
#include "sim/swarm/twin.hpp"

namespace gpuctl::sim {

inline constexpr int kMomentsPerLife = 40;

class RandomWorld {
public:
    // `progress`, when given, is the number of steps so far: for whoever finds the body.
    // `also` is called after every step, too.
    explicit RandomWorld(std::uint64_t seed, volatile std::uint64_t* progress = nullptr,
                         Simulation::Observer also = {});

    void live(int moments);
    void find_peace();

    void submit();
    void submit_again();  // under the name of a finished job
    void check_moment();
    [[nodiscard]] Simulation& simulation() { return simulation_; }
    [[nodiscard]] const std::vector<Violation>& violations() const { return judge_.violations(); }
    [[nodiscard]] std::uint64_t violation_step() const { return judge_.first_step(); }
    // Of the life so far, the virtual cluster's own figures included.
    [[nodiscard]] Probes probes() const;

private:
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    void act();
    void begin_something();
    void disturb_node();
    void change_node();
    void change_leader();
    void restart();
    void remove_some_job();
    void kill_some_container();
    void change_health();
    void remove(const ObjectKey& key);
    void check_recovery();
    void check_twin();
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
    Rng kept_models_rng_;
    Rng roles_rng_;
    Rng retention_rng_;
    Rng ties_rng_;
    Rng beside_rng_;
    Rng unsaid_rng_;
    Judge judge_;
    volatile std::uint64_t* progress_;
    Simulation::Observer also_;
    std::vector<std::string> node_names_;
    std::map<std::string, NodeFacts> nodes_;       // as configured
    std::map<std::string, NodeFacts> nodes_away_;  // as they were
    std::map<ObjectKey, JobSpec> acknowledged_;    // and not deleted
    std::map<ObjectKey, GangRoles> roles_;         // of all that had any
    std::map<ObjectKey, NodeTies> ties_;
    std::set<ObjectKey> unsaid_;  // jobs whose users do not say whether they may go
    std::uint64_t jobs_ = 0;
    ClusterFigures figures_;  // of clusters that are gone by now
    std::uint64_t rollbacks_ = 0;
    std::optional<int> twin_from_;  // this moment on
    Twin twin_;
    Simulation simulation_;
};

// One whole life: trouble, then peace.
struct Life {
    Probes probes;
    std::vector<Violation> violations;
    std::uint64_t violation_step = 0;  // of the first
    std::uint64_t history_hash = 0;
};
Life live_one(std::uint64_t seed, int moments, volatile std::uint64_t* progress = nullptr,
              Simulation::Observer also = {});

}  // namespace gpuctl::sim
