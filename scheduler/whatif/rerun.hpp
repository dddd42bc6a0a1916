#pragma once
// Simulates a window of the past in a copy of the engine, under the policy in effect or under
// another one. Pods run as soon as they are bound, for their observed run time. Nodes, foreign pods
// and users act as they did, at the same times.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/model/reason.hpp"
#include "scheduler/whatif/go_on.hpp"
#include "scheduler/whatif/past.hpp"

namespace gpuctl::whatif {

// The result for the pod of the same index in PastWindow::pods.
struct RerunPod {
    Instant started;                // first start; never: it waits to the end of the window
    std::int64_t ran_ms = 0;        // run time within the window, over all its runs
    std::string queue;              // "pool/queue/sub-queue" when it arrived
    Reason nowhere = Reason::none;  // why no queue of that name accepts it
};

struct RerunAsk {
    const PastWindow& past;
    std::optional<Policy> policy;     // replaces every policy of the window
    std::vector<Duration> run_times;  // by pod; 0: it runs to the end of the window
    GoOn go_on = {};                  // ends with ShuttingDown if it returns false
};
// Errors: JournalDamaged, ShuttingDown.
Result<std::vector<RerunPod>> rerun(const RerunAsk& ask);

}  // namespace gpuctl::whatif
