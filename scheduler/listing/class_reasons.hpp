#pragma once
// Why the jobs of a class wait: the reason of the first blocker that explain() returns for one of
// them. It is computed at most once for a class, a state of the engine and a second, and less often
// if that would take more loop time than readers may use.
//
// Owner, thread: the Listing's.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "scheduler/listing/allowance.hpp"
#include "scheduler/plan/allocate/eligibility.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ClassReasons {
public:
    // The reason of a job in a queue, or of a job that could be tried and is in no queue yet.
    Reason of(const ClusterState& state, JobId job, std::uint64_t revision);

    // The first blocker that explain() returns; nothing: no pod of the job waits.
    std::optional<Explanation> first_blocker(const ClusterState& state, JobId job);

    // The job whose explanation is used for its class: the first job in line without a reservation,
    // since a job with a reservation has another explanation.
    [[nodiscard]] static JobId spokesman(const ClusterState& state, JobId job);

private:
    struct Known {
        std::uint64_t serial = 0;    // of the class, or the arrival of the job
        std::uint64_t revision = 0;  // 0: unknown
        std::int64_t second = 0;
        Reason reason = Reason::none;
    };
    Reason read(const ClusterState& state, JobId job, std::uint64_t serial, std::uint64_t revision,
                Known& known);

    std::vector<Known> classes_;                  // by ClassId
    std::unordered_map<JobId, Known> by_itself_;  // jobs that represent no class
    Allowance allowance_;
    EligibilityCache eligibility_;
    Readiness ready_;
};

}  // namespace gpuctl
