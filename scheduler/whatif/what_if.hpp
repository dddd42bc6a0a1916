#pragma once
// A dry run before submission: would this job start, where, which jobs would it evict, and if it
// would not start, when, why not and what would help?

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
    std::optional<Refusal> never;            // it could never start; then nothing else is set
    bool starts = false;                     // now, completely
    std::vector<TrialPlacement> placements;  // by rank; what could start even if not all could
    std::vector<StoppedJob> stops;           // for it, if disruption budgets allow it
    std::optional<StartEstimate> start;      // while it waits, if known
    std::int64_t position = 0;               // in its queue; 0: it does not wait
    std::vector<Explanation> blockers;       // empty if it starts
    Remedies remedies;                       // likewise
};

// `exported`: Engine::export_state(). The name of the job must be free there. The original is not
// changed. Errors: JournalDamaged, JobExists.
Result<Answer> ask(std::string_view exported, const JobRecord& job, const std::string& label_prefix,
                   Instant now, GoOn go_on = {});

}  // namespace gpuctl::whatif
