#include "scheduler/plan/preempt/stranded.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/model/amount_text.hpp"

namespace gpuctl::stranded {

bool may_try(const ClusterState& state, const JobRow& job) {
    const std::set<Arrived>& gangs = state.gangs.stranded_gangs();
    return std::any_of(gangs.begin(), gangs.end(), [&](const Arrived& one) {
        const JobRow& other = state.job(one.second);
        return other.pool == job.pool && other.key != job.key;
    });
}

bool may_stop(const JobRow& job, const JobRow& other) {
    if (planted(PlantedBug::stop_no_stranded_gangs)) return false;
    // It is no longer in the line if it changed since this Plan began: it is terminating, or its
    // room is being released.
    return other.gang.is_stranded && other.waiting.in_class.exists() && other.pool == job.pool &&
           other.key != job.key && other.priority < kSystemPriority;
}

bool may_start_anew(const JobRow& job) {
    return job.gang.is_stranded && job.priority < kSystemPriority;
}

std::string why(const ClusterState& state, const JobRow& job, const JobRow& other) {
    return "preempted because ranks of its gang had been missing for " +
           amounts::span(state.now() - other.gang.short_since) + " and job " + to_string(job.key) +
           " fits on its room";
}

std::string why_anew(const ClusterState& state, const JobRow& job) {
    return "evicted because ranks of its gang had been missing for " +
           amounts::span(state.now() - job.gang.short_since) + " and the whole gang fits elsewhere";
}

}  // namespace gpuctl::stranded
