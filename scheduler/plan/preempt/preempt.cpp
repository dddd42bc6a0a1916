#include "scheduler/plan/preempt/preempt.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl::preempt {

bool is_below(std::int32_t other, std::int32_t own) {
    return other < own || (other == own && has_fault(SeededFault::preempt_equals));
}

bool may_try(const ClusterState& state, const JobRow& job, PodId pod) {
    if (!state.pod(pod).facts.preempts || !job.queue.exists()) return false;
    const auto& there = state.queue(job.queue).preemptible;
    return has_fault(SeededFault::preempt_the_unwilling) ||
           std::any_of(there.begin(), there.end(), [&job](const auto& entry) {
               return entry.second > 0 && is_below(entry.first, job.priority);
           });
}

bool may_stop(const JobRow& job, const JobRow& other) {
    return other.queue == job.queue && other.key != job.key &&
           is_below(other.priority, job.priority);
}

}  // namespace gpuctl::preempt
