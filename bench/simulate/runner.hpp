#pragma once
// Simulates seeds on all cores, each worker in a process of its own: a seed that crashes the engine
// (a CHECK, a sanitizer) is reported like any violation, and the other workers continue.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {

struct RunOptions {
    std::uint64_t first = 1;
    std::uint64_t last = 100;
    int actions = sim::kActionsPerRun;
    sim::WorldKind kind = sim::WorldKind::plain;
    unsigned jobs = 1;
    bool stop_at_first = true;    // stop at the first violation
    bool skip_open = false;       // leave out kOpenSeeds
    bool list_decisions = false;  // fill RunReport::decisions_by_seed
    unsigned twice_every = 100;   // one seed in this many is simulated twice and compared; 0: none
};

struct Failure {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    std::string id;  // of the invariant; CRASH: the process ended
    std::string what;
};

struct RunReport {
    std::uint64_t seeds = 0;
    std::uint64_t seeds_twice = 0;
    // A hash of every input and effect of every seed, in any order of the seeds: equal across
    // compilers, machines and numbers of workers.
    std::uint64_t history = 0;
    // A hash of decisions only (sim/decision_history.hpp): equal across versions of the engine with
    // equal decisions.
    std::uint64_t decisions = 0;
    std::vector<std::uint64_t> decisions_by_seed;  // from the first seed on; 0: not run
    double seconds = 0;
    sim::Probes probes;
    sim::ChangeProbes changes;  // of worlds with changes
    std::vector<Failure> failures;
};

RunReport run_seeds(const RunOptions& options);

}  // namespace gpuctl::bench
