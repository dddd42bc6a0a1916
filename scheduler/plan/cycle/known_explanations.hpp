#pragma once
// Cached explanations of waiting classes for one cycle. An entry is valid while no amount in its
// pool changes.

#include <map>
#include <utility>

#include "scheduler/plan/allocate/eligibility.hpp"
#include "scheduler/plan/explain/explain.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class KnownExplanations {
public:
    void clear() { known_.clear(); }
    // The explanation of the class that the job waits in.
    const Explanation& of(const ClusterState& state, JobId id, const Readiness& ready,
                          EligibilityCache& eligibility) {
        const JobRow& job = state.job(id);
        Known& known = known_[{job.pool, state.waiting.book().at(job.waiting.in_class).key}];
        const std::uint64_t changes = state.pool(job.pool).changes;
        if (known.changes != changes) {
            known.changes = changes;
            known.explanation = blockers(state, id, ready, &eligibility).front();
        }
        return known.explanation;
    }

private:
    struct Known {
        std::uint64_t changes = 0;
        Explanation explanation;
    };
    std::map<std::pair<PoolId, ClassKey>, Known> known_;
};

}  // namespace gpuctl
