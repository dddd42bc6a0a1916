#pragma once
// Previews a change of the policy: how long would the jobs of the last hours have waited under it,
// and which jobs would have waited shorter or longer? The past is simulated twice, under the policy
// that was in effect and under the proposed policy, so that both results are comparable. The
// difference between the first simulation and the real past is reported, too.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/policy/policy.hpp"
#include "scheduler/whatif/go_on.hpp"
#include "scheduler/whatif/past.hpp"

namespace gpuctl::whatif {

// The wait of a job that did not start in the window counts up to the end of the window.
struct WaitFigures {
    Duration mean;
    Duration p95;
    std::int64_t not_started = 0;
    std::int64_t gpu_ms = 0;  // GPU-milliseconds within the window
};

struct PreviewGroup {
    std::string name;
    std::int64_t jobs = 0;
    WaitFigures before;
    WaitFigures after;
};

struct PreviewJob {
    ObjectKey key;
    std::string queue;  // under the policy in effect
    GpuMilli gpus;
    Instant arrived;
    Duration wait_before;
    Duration wait_after;
    bool started_before = false;
    bool started_after = false;
};

// A queue that jobs of the window used and that no longer accepts them: these jobs would wait for
// ever.
struct GoneQueue {
    std::string queue;  // "pool/queue/sub-queue", under the policy in effect
    Reason reason{};    // queue_unknown, pool_unknown, queue_holds_queues
    bool is_pool_declared = false;
    std::int64_t jobs = 0;
};

struct Preview {
    Instant begin;
    Instant end;
    PreviewGroup all;
    std::vector<PreviewGroup> queues;   // by name
    std::vector<PreviewGroup> tenants;  // likewise
    std::vector<PreviewJob> gain;       // the ten jobs that gain most
    std::vector<PreviewJob> lose;       // the ten jobs that lose most
    std::int64_t jobs_gain = 0;         // jobs with a shorter wait
    std::int64_t jobs_lose = 0;         // jobs with a longer wait
    std::vector<GoneQueue> gone;        // by name
    // Figures of the accuracy of the preview.
    Duration wait_mean_in_fact;              // mean real wait of the same jobs
    std::int64_t not_started_in_fact = 0;    // jobs that did not start in reality
    std::int64_t jobs_run_time_guessed = 0;  // jobs whose end was not observed
};

// Errors: JournalDamaged; ShuttingDown if `go_on` returns false.
Result<Preview> preview(const PastWindow& past, const Policy& proposed, const GoOn& go_on = {});

}  // namespace gpuctl::whatif
