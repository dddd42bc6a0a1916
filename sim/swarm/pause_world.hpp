#pragma once
// Small random worlds in which users change, pause and resume jobs while nodes come and go and the
// scheduler restarts. Every step is checked: the invariants, the seats that a pause must leave, and
// that a stale change is ignored. The larger worlds (random_world.hpp) draw no changes, so that
// their decisions stay those of tests/golden/decisions.txt.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "scheduler/state/invariants/invariants.hpp"
#include "sim/simulation.hpp"

namespace gpuctl::sim {

struct PauseProbes {
    std::uint64_t steps = 0;
    std::uint64_t pauses = 0;
    std::uint64_t seats = 0;  // that pauses left
    std::uint64_t resumes_in_seats = 0;
    std::uint64_t stale_changes = 0;
};

class PauseWorld {
public:
    explicit PauseWorld(std::uint64_t seed);

    // Random changes, then all jobs are resumed and must end: no room is kept for nothing.
    void run(int actions);

    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    [[nodiscard]] const PauseProbes& probes() const { return probes_; }

private:
    struct Known {  // of a job, before a step
        std::uint64_t revision = 0;
        bool is_paused = false;
        bool keeps = false;  // it is paused and keeps room
        std::size_t seats = 0;
    };

    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    void check_bind(const Effect& effect, const ClusterState& after);
    void check_seats(const Input& input, const ClusterState& after);
    void check_change(const Input& input, const ClusterState& after);
    void remember(const ClusterState& state);
    void fail(std::string id, std::string what);
    void act();
    void submit();
    void change(JobChangeKind kind);
    void restart();
    [[nodiscard]] SimulationSettings settings(std::uint64_t seed);
    [[nodiscard]] const JobRow* any_job();

    Rng rng_;
    std::map<ObjectKey, Known> known_;
    std::map<std::string, ObjectKey>
        bound_;                      // by uid: pods that would leave a seat, and their jobs
    std::set<std::string> assumed_;  // uids of pods with a bind in flight
    std::map<std::string, NodeFacts> nodes_;
    std::map<std::string, NodeFacts> nodes_away_;
    std::uint64_t jobs_ = 0;
    PauseProbes probes_;
    std::vector<Violation> violations_;
    Simulation simulation_;
};

}  // namespace gpuctl::sim
