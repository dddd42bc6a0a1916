#pragma once
// Engine and virtual cluster together under a virtual clock, driven as the daemon drives them:
// events in batches, a Plan input after a batch when the engine wants one, effects carried out
// after the step that made them. For simulation tests, replays of traces and what-if.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/policy.hpp"
#include "sim/cluster.hpp"

namespace gpuctl::sim {

struct SimulationSettings {
    Settings cluster;
    std::vector<NodeFacts> nodes;
    Policy policy;
    Instant start{1'700'000'000'000};
    // What pods say beside what their jobs have them say; called for each that is observed.
    std::function<void(PodFacts&)> annotate;
};

class Simulation {
public:
    // Called after each engine step with what it was given and what it asked for.
    using Observer = std::function<void(const Engine&, const Input&, const std::vector<Effect>&)>;

    explicit Simulation(SimulationSettings settings, Observer observer = {});

    void submit(JobSpec spec);
    void remove(const ObjectKey& job, bool force = false);
    void disturb(const SimInput& input);
    void change_policy(Policy policy);
    // Another gpuctld may lead meanwhile, but none does: nothing happens until we lead again.
    void lose_leadership();
    void lead_again();
    void run_for(Duration span);
    // Runs to the next moment at which something is due; false when nothing ever is.
    bool run_to_next(Instant limit);

    // The scheduler dies and comes back from its own state; the cluster lives on. What it had
    // decided in its last step but not sent is lost when `lose_effects`; answers on their way are
    // lost in any case.
    void restart_scheduler(bool lose_effects);
    // The same from an older state, as if the journal had lost its end: what must never happen, to
    // see that a checker notices.
    void restart_scheduler_from(const std::string& state);
    // Embedded mode: scheduler and cluster are one process and come back together.
    void restart_all();

    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] const Engine& engine() const { return engine_; }
    [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
    [[nodiscard]] std::uint64_t inputs() const { return sequence_; }
    // Over every input and effect so far: two runs with equal histories were the same run.
    [[nodiscard]] std::uint64_t history_hash() const { return history_hash_; }
    // The longest run of Plan inputs at one moment; a large number is a livelock.
    [[nodiscard]] std::uint64_t plans_in_a_row_max() const { return plans_in_a_row_max_; }

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
    EffectList effects_;  // of the steps since they were last carried out
    std::set<EffectId> in_flight_;
    std::set<EffectId> answers_lost_;
    std::uint64_t history_hash_ = 0;
    std::uint64_t plans_in_a_row_max_ = 0;
};

}  // namespace gpuctl::sim
