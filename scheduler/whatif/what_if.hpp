#pragma once
// Asked before submitting: would this job start, where, whom would it push out, and if not, when,
// why not and what would help?

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/plan/start_estimate.hpp"
#include "scheduler/whatif/remedies.hpp"

namespace gpuctl::whatif {

struct TrialPlacement {
    std::string pod;
    std::string node;
};

struct Answer {
    bool starts = false;                     // now, as a whole
    std::vector<TrialPlacement> placements;  // by rank; what could start even if not all could
    std::vector<StoppedJob> stops;           // for it, if disruption budgets let them go
    std::optional<StartEstimate> start;      // while it waits, as far as it can be told
    std::int64_t position = 0;               // in its queue's line; 0: it does not wait
    std::vector<Explanation> blockers;       // empty when it starts
    Remedies remedies;                       // likewise
};

// `exported`: Engine::export_state(). The job's name must be free there. Nothing is changed.
// Errors: JournalDamaged, JobExists, and those of preflight().
Result<Answer> ask(std::string_view exported, const JobRecord& job, const std::string& label_prefix,
                   Instant now, GoOn go_on = {});

}  // namespace gpuctl::whatif
