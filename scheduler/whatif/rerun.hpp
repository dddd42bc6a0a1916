#pragma once
// Plays a stretch of the past once more in a copy of the engine, as it was or under another policy.
// Pods start the moment they are bound and take as long as they took; nodes, foreign pods and users
// do at each moment what they did.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/model/reason.hpp"
#include "scheduler/whatif/go_on.hpp"
#include "scheduler/whatif/past.hpp"

namespace gpuctl::whatif {

// What became of the pod of the same index in PastWindow::pods.
struct RerunPod {
    Instant started;                // first time; never: it waits to the end
    std::int64_t ran_ms = 0;        // within the window, all its starts together
    std::string queue;              // "pool/queue/sub-queue" when it came
    Reason nowhere = Reason::none;  // it can wait in no queue of that name
};

struct RerunAsk {
    const PastWindow& past;
    std::optional<Policy> policy;     // instead of every policy there was
    std::vector<Duration> run_times;  // by pod; 0: to the end of the window
    GoOn go_on = {};                  // false: ShuttingDown
};
// Errors: JournalDamaged, ShuttingDown.
Result<std::vector<RerunPod>> rerun(const RerunAsk& ask);

}  // namespace gpuctl::whatif
