#pragma once
// Simulates a window of the past in a copy of the engine, under the policy in effect or another
// one. Pods run as soon as they are bound, for their observed run time; nodes, foreign pods and
// users do what they did, at the same times.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/model/reason.hpp"
#include "scheduler/whatif/go_on.hpp"
#include "scheduler/whatif/past.hpp"

namespace gpuctl::whatif {

// The result for the pod of the same index in PastWindow::pods.
struct RerunPod {
    Instant started;                // first start; never: it waits to the end
    std::int64_t ran_ms = 0;        // within the window, over all its runs
    std::string queue;              // "pool/queue/sub-queue" when it came
    Reason nowhere = Reason::none;  // no queue of that name accepts it
};

struct RerunAsk {
    const PastWindow& past;
    std::optional<Policy> policy;     // replaces every policy of the window
    std::vector<Duration> run_times;  // by pod; 0: to the end of the window
    GoOn go_on = {};                  // false: ends with ShuttingDown
};
// Errors: JournalDamaged, ShuttingDown.
Result<std::vector<RerunPod>> rerun(const RerunAsk& ask);

}  // namespace gpuctl::whatif
