#pragma once
// The data that a virtual cluster is restored from after a restart: a part of the engine's state.
// In embedded mode the engine's journal is the only persistent state.

#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::sim {

struct World {
    struct Job {
        JobRecord record;
        bool deleting = false;   // its user deleted it
        std::int32_t ranks = 0;  // of an elastic job; otherwise 0
        bool is_paused = false;
        bool is_changed = false;  // by its user
    };
    std::vector<Job> jobs;
    std::vector<PodFacts> pods;
    std::vector<std::string> ended_pods;  // uids of pods of jobs that are kept as a summary
    std::vector<NodeFacts> nodes;
};

// Reads it from the engine. A bind counts if it was answered but not yet seen by the watch; a bind
// in flight does not.
World read_world(const Engine& engine);

}  // namespace gpuctl::sim
