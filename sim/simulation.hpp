#pragma once
// Engine and virtual cluster together under a virtual clock. They are driven as by the daemon:
// events in batches, a Plan input after a batch if the engine wants one, effects carried out after
// the step that made them. For simulation tests, replays of traces and what-if.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "sim/cluster.hpp"
#include "sim/decision_history.hpp"

namespace gpuctl::sim {

struct SimulationSettings {
    Settings cluster;
    std::vector<NodeFacts> nodes;
    Policy policy;
    Instant start{1'700'000'000'000};
    // Adds annotations to a pod in addition to those of its job; called for each observed pod.
    std::function<void(PodFacts&)> annotate;
};

// More Plan inputs than this at one point in time are a livelock.
inline constexpr std::uint64_t kPlansInARowMax = 1'000;

class Simulation {
public:
    // Called after each engine step with its input and effects.
    using Observer = std::function<void(const Engine&, const Input&, const std::vector<Effect>&)>;

    explicit Simulation(SimulationSettings settings, Observer observer = {});

    void submit(JobSpec spec);
    void remove(const ObjectKey& job, bool force = false);
    void change(JobUpdated change);
    void change_node(NodeChangeRequested change);
    void disturb(const SimInput& input);
    void change_policy(Policy policy);
    // Objects of the policy, and the policy that results.
    void change_objects(Policy policy, PolicyObjectsChanged objects);
    // Leadership is lost, and no other gpuctld leads: nothing is scheduled until
    // regain_leadership().
    void lose_leadership();
    void regain_leadership();
    void run_for(Duration span);
    // Advances to the next due time; false: nothing is due.
    bool run_to_next(Instant limit);

    // The scheduler crashes and restarts from its own state; the cluster keeps running. Effects of
    // its last step are lost if `lose_effects`; answers in flight are lost in any case.
    void restart_scheduler(bool lose_effects);
    // Restarts from an older state, as if the journal had lost its end. For tests of the checker:
    // this must never happen in production.
    void restart_scheduler_from(const std::string& state);
    // Restarts both, as in embedded mode, where scheduler and cluster are one process.
    void restart_all();

    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] const Engine& engine() const { return engine_; }
    [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
    [[nodiscard]] std::uint64_t inputs() const { return sequence_; }
    // A hash of every input and effect so far: equal hashes mean equal runs.
    [[nodiscard]] std::uint64_t history_hash() const { return history_hash_; }
    // A hash of the decisions alone, see DecisionHistory.
    [[nodiscard]] std::uint64_t decision_hash() const { return decisions_.hash(); }
    // The largest number of Plan inputs in a row at one point in time; a large number is a
    // livelock. At kPlansInARowMax the engine is given no more of them.
    [[nodiscard]] std::uint64_t plans_in_a_row_max() const { return plans_in_a_row_max_; }
    [[nodiscard]] bool comes_to_rest() const { return plans_in_a_row_max_ < kPlansInARowMax; }

private:
    void step(Event event);
    void settle();
    void begin(std::vector<Event> first);

    SimulationSettings settings_;
    Observer observer_;
    Engine engine_;
    std::optional<Cluster> cluster_;
    Instant now_;
    std::uint64_t sequence_ = 0;
    std::uint64_t epoch_ = 0;
    std::uint64_t jobs_ = 0;
    std::vector<Event> pending_;
    EffectList effects_;  // not carried out yet
    std::set<EffectId> in_flight_;
    std::set<EffectId> answers_lost_;
    std::uint64_t history_hash_ = 0;
    DecisionHistory decisions_;
    std::uint64_t plans_in_a_row_max_ = 0;
};

}  // namespace gpuctl::sim
