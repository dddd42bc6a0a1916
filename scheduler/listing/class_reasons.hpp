#pragma once
// Why the jobs of a class wait, in a word: what explain() says first of one of them now. Asked of a
// class once for each state of the engine and second, and less often where that would take more of
// the loop than readers may have.
//
// Owner, thread: the Listing's.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "scheduler/listing/allowance.hpp"
#include "scheduler/plan/eligibility.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ClassReasons {
public:
    // Of a job in a queue, or one that could be tried and is in none yet.
    Reason of(const ClusterState& state, JobId job, std::uint64_t revision);

    // The first blocker of explain(); nothing: no pod of the job waits.
    std::optional<Explanation> first_blocker(const ClusterState& state, JobId job);

    // The job by which the others of its class are explained: its first in line for which no room
    // is kept, whose story is another one.
    [[nodiscard]] static JobId spokesman(const ClusterState& state, JobId job);

private:
    struct Known {
        std::uint64_t serial = 0;    // of the class, or the arrival of the job
        std::uint64_t revision = 0;  // 0: nothing is known
        std::int64_t second = 0;
        Reason reason = Reason::none;
    };
    Reason read(const ClusterState& state, JobId job, std::uint64_t serial, std::uint64_t revision,
                Known& known);

    std::vector<Known> classes_;                  // by ClassId
    std::unordered_map<JobId, Known> by_itself_;  // jobs that speak for nobody else
    Allowance allowance_;
    EligibilityCache eligibility_;
    Readiness ready_;
};

}  // namespace gpuctl
