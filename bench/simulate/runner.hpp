#pragma once
// Lives seeds on all cores, each worker a process of its own, so that a seed that crashes the
// engine (a CHECK, a sanitizer) is a violation with a number like any other and the rest goes on.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {

struct RunOptions {
    std::uint64_t first = 1;
    std::uint64_t last = 100;
    int moments = sim::kMomentsPerLife;
    unsigned jobs = 1;
    bool stop_at_first = true;   // violation
    bool skip_open = false;      // leave out kOpenSeeds
    unsigned twice_every = 100;  // every so manieth seed is lived twice and compared; 0: none
};

struct Failure {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    std::string id;  // of the invariant; CRASH: the process died
    std::string what;
};

struct RunReport {
    std::uint64_t seeds = 0;
    std::uint64_t seeds_twice = 0;
    // Of every input and effect of every seed, in whatever order the seeds were lived: equal from
    // one compiler, machine and number of workers to the next.
    std::uint64_t history = 0;
    double seconds = 0;
    sim::Probes probes;
    std::vector<Failure> failures;
};

RunReport run_seeds(const RunOptions& options);

}  // namespace gpuctl::bench
