#pragma once
// A dry run before submission: would this job start, where, and which jobs would it evict? If it
// would not start: when would it, why does it wait, and which changes would help?

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/model/explanation/refusal_facts.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/plan/estimate/start_estimate.hpp"
#include "scheduler/whatif/remedies.hpp"

namespace gpuctl::whatif {

struct TrialPlacement {
    std::string pod;
    std::string node;
};

struct Answer {
    std::optional<Refusal> never;  // it could never start; then nothing else is set
    bool starts = false;           // it starts now, completely
    // by rank; if not all pods could start, those that could
    std::vector<TrialPlacement> placements;
    // jobs evicted for it, if disruption budgets allow the evictions
    std::vector<EvictedJob> stops;
    std::optional<StartEstimate> start;  // while it waits, if known
    std::int64_t position = 0;           // position in its queue; 0: it does not wait
    std::vector<Explanation> blockers;   // empty if it starts
    Remedies remedies;                   // empty if it starts
};

// `exported`: Engine::export_state(). It must not contain a job of this name, and it is not
// changed. Errors: JournalDamaged, JobExists.
Result<Answer> simulate_submission(std::string_view exported, const JobRecord& job,
                                   const std::string& label_prefix, Instant now, GoOn go_on = {});

}  // namespace gpuctl::whatif
