#include "scheduler/plan/preempt/stranded.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl::stranded {

bool may_try(const ClusterState& state, const JobRow& job) {
    const std::set<Arrived>& gangs = state.gangs.stranded_gangs();
    return std::any_of(gangs.begin(), gangs.end(), [&](const Arrived& one) {
        const JobRow& other = state.job(one.second);
        return other.pool == job.pool && other.key != job.key;
    });
}

bool may_stop(const JobRow& job, const JobRow& other) {
    if (has_fault(SeededFault::stop_no_stranded_gangs)) return false;
    // It is no longer in the line if it changed since this Plan began: it is terminating, or its
    // room is being released.
    return yields(other.gang.phase()) && other.waiting.in_class.exists() &&
           other.pool == job.pool && other.key != job.key && other.priority < kSystemPriority;
}

bool may_restart(const JobRow& job) {
    return yields(job.gang.phase()) && job.priority < kSystemPriority;
}

Cause why(const ClusterState& state, const JobRow& job, const JobRow& other) {
    return cause::GangLacksRanks{state.now() - other.gang.short_since, job.key};
}

Cause why_restarted(const ClusterState& state, const JobRow& job) {
    return cause::GangRestarts{state.now() - job.gang.short_since};
}

}  // namespace gpuctl::stranded
