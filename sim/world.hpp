#pragma once
// What a virtual cluster is rebuilt from after a restart: the engine's own state (ruling 22: in
// embedded mode the journal is the truth).

#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::sim {

struct World {
    struct Job {
        JobRecord record;
        bool deleting = false;   // its user asked for its end
        std::int32_t ranks = 0;  // of an elastic job; else 0
    };
    std::vector<Job> jobs;
    std::vector<PodFacts> pods;
    std::vector<std::string> ended_pods;  // uids of those of which only a summary is kept
    std::vector<NodeFacts> nodes;
};

// A bind that was answered but not yet seen by the watch counts; one still in flight does not.
World read_world(const Engine& engine);

}  // namespace gpuctl::sim
