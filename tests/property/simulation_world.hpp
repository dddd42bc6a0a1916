#pragma once
// A random world from a seed (swarm: each seed switches some kinds of trouble on and others off),
// a random life in it, and what must hold at every step and at the end.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "scheduler/state/invariants.hpp"
#include "sim/simulation.hpp"

namespace gpuctl::sim {

// What happened over all seeds; each must have happened, or the test proves less than it says.
struct Probes {
    std::uint64_t gangs_started = 0;  // of more than one rank
    std::uint64_t gang_rollbacks = 0;
    std::uint64_t binds_accepted = 0;
    std::uint64_t binds_turned_down = 0;
    std::uint64_t containers_failed = 0;
    std::uint64_t pods_evicted = 0;
    std::uint64_t pods_deleted = 0;
    std::uint64_t scheduler_restarts = 0;
    std::uint64_t full_restarts = 0;
    std::uint64_t nodes_lost = 0;
    std::uint64_t nodes_left = 0;
    std::uint64_t jobs_succeeded = 0;
    std::uint64_t steps = 0;
};

class RandomWorld {
public:
    explicit RandomWorld(std::uint64_t seed)
        : rng_(seed),
          simulation_(make_settings(), [this](const Engine& engine, const Input& input,
                                              const std::vector<Effect>& effects) {
              observe(engine, input, effects);
          }) {}

    // Trouble for a while, then peace; the checks of the end are made by the caller.
    void live(int moments) {
        for (int i = 0; i < moments && violations.empty(); ++i) {
            act();
            simulation_.run_for(Duration{rng_.between(1, 20'000)});
            check_moment();
        }
    }
    void make_peace() {
        simulation_.disturb(FaultsChanged{Faults{}});
        for (const auto& [name, facts] : nodes_away_) simulation_.disturb(NodeJoins{facts});
        nodes_away_.clear();
        for (const std::string& name : node_names_) {
            simulation_.disturb(NodeReturns{name});
            simulation_.disturb(NodeCordoned{name, false});
        }
        // Services hold their GPUs for ever; what is left must drain.
        for (const auto& [key, kind] : std::map<ObjectKey, JobKind>{acknowledged_}) {
            if (kind != JobKind::training || impossible_.contains(key)) remove(key);
        }
    }
    // Every training job came to an end, and nothing is left behind.
    void check_end() {
        for (const JobView& job : list_jobs(simulation_.engine().state(), {})) {
            if (!is_over(job)) {
                fail("job " + to_string(job.key) + " is still " + job.status +
                     (job.waiting ? ": " + job.waiting->sentence : ""));
            }
        }
        for (const NodeView& node : list_nodes(simulation_.engine().state())) {
            if (gpus_total(node.used) != GpuMilli{0}) fail("GPUs leaked on " + node.facts.name);
        }
        check_moment();
        const ClusterFigures& figures = simulation_.cluster().figures();
        probes.binds_accepted += figures.binds_accepted;
        probes.binds_turned_down += figures.binds_turned_down;
        probes.containers_failed += figures.containers_failed;
        probes.pods_evicted += figures.pods_evicted;
        probes.pods_deleted += figures.pods_deleted;
        probes.steps += simulation_.inputs();
    }

    Simulation& simulation() { return simulation_; }
    void submit();
    void check_moment();
    std::vector<std::string> violations;
    Probes probes;

private:
    SimulationSettings make_settings();
    void act();
    void remove(const ObjectKey& key);
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    static bool is_over(const JobView& job);
    void fail(std::string what) {
        if (violations.size() < 10) violations.push_back(std::move(what));
    }
    const std::string& any_node() { return node_names_[rng_.below(node_names_.size())]; }

    Rng rng_;
    std::vector<std::string> node_names_;
    std::map<std::string, NodeFacts> nodes_;
    std::map<std::string, NodeFacts> nodes_away_;
    bool may_lose_nodes_ = false;
    bool may_restart_ = false;
    std::map<ObjectKey, JobKind> acknowledged_;  // and not deleted
    std::set<ObjectKey> impossible_;
    std::map<std::string, std::string> bound_to_;  // by pod uid: every bind that was accepted
    std::uint64_t jobs_ = 0;
    Simulation simulation_;
};

}  // namespace gpuctl::sim
