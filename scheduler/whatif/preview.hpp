#pragma once
// Asked before a policy is changed: how long would the jobs of the last hours have waited under it,
// and who would have gained or lost? The past is played twice, under the policy it had and under
// the other one, so that both sides are made by the same means; how far the first is from what was
// is told, too.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/policy.hpp"
#include "scheduler/whatif/go_on.hpp"
#include "scheduler/whatif/past.hpp"

namespace gpuctl::whatif {

// Waits of jobs that did not start in the window count up to its end.
struct WaitFigures {
    Duration mean;
    Duration p95;
    std::int64_t not_started = 0;
    std::int64_t gpu_ms = 0;  // GPU-milliseconds run within the window
};

struct PreviewGroup {
    std::string name;
    std::int64_t jobs = 0;
    WaitFigures before;
    WaitFigures after;
};

struct PreviewJob {
    ObjectKey key;
    std::string queue;  // under the policy it had
    GpuMilli gpus;
    Instant arrived;
    Duration wait_before;
    Duration wait_after;
    bool started_before = false;
    bool started_after = false;
};

// A queue that jobs of that time were in, and can be in no more: they wait for ever.
struct GoneQueue {
    std::string queue;  // "pool/queue/sub-queue", under the policy it had
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
    std::vector<PreviewJob> gain;       // the ten that gain most
    std::vector<PreviewJob> lose;       // the ten that lose most
    std::int64_t jobs_gain = 0;         // wait less
    std::int64_t jobs_lose = 0;         // wait longer
    std::vector<GoneQueue> gone;        // by name
    // How much to believe it.
    Duration wait_mean_in_fact;              // of the same jobs
    std::int64_t not_started_in_fact = 0;    // likewise
    std::int64_t jobs_run_time_guessed = 0;  // never seen to end
};

// Errors: JournalDamaged; ShuttingDown once `go_on` says no.
Result<Preview> preview(const PastWindow& past, const Policy& proposed, const GoOn& go_on = {});

}  // namespace gpuctl::whatif
