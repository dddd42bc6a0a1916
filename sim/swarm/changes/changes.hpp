#pragma once
// What people change in worlds with changes, in addition to the draws of a random world: jobs
// (pause, resume, apply, scale), nodes (labels, cordons, drains, pools), and objects of the policy.
// Everything is drawn from a stream of its own, so that worlds without changes stay as they are.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "sim/simulation.hpp"
#include "sim/swarm/changes/change_checks.hpp"
#include "sim/swarm/changes/policy_edits.hpp"

namespace gpuctl::sim {

class Changes {
public:
    Changes(std::uint64_t seed, Policy base, Checker& checker);

    // After every step of the engine.
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects) {
        checks_.observe(engine, input, effects);
    }
    void act(Simulation& simulation);
    // Some jobs name a pool or a queue that exists only while there is an object of it.
    void route(JobSpec& spec);
    // The base of the policy changes, as when the configuration file is read again.
    void change_base(Policy base, Simulation& simulation);
    // After a restart: the policy is made again from the base and the stored objects.
    void read_back(Simulation& simulation);
    void compare(const Simulation& simulation) {
        checks_.compare_jobs(simulation.engine().state(), simulation.cluster());
    }
    // No faults any more: all changes are answered, jobs are resumed, objects are deleted.
    void end(Simulation& simulation);
    void check_end(const Simulation& simulation) { checks_.check_end(simulation.engine().state()); }
    [[nodiscard]] const ChangeProbes& probes() const { return probes_; }

private:
    [[nodiscard]] const JobRow* any_job(const Simulation& simulation);
    void change_job(JobChangeKind kind, Simulation& simulation);
    [[nodiscard]] JobRecord other_record(const JobRecord& known);
    void change_node(Simulation& simulation);
    void request(NodeChange change, Simulation& simulation);
    void move_node(const std::string& node, const std::string& pool, Simulation& simulation);
    void edit_policy(Simulation& simulation);
    void count_uses(const PolicyObjectsChanged& event, const ClusterState& state);
    void empty_deleted_pools(const PolicyObjectsChanged& event, Simulation& simulation);
    void resume_all(Simulation& simulation);

    Rng rng_;
    Policy base_;
    ChangeProbes probes_;
    PolicyEdits edits_;
    ChangeChecks checks_;
    std::uint64_t requests_ = 0;
    std::uint64_t applies_ = 0;
};

}  // namespace gpuctl::sim
