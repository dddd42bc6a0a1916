#include "scheduler/plan/stranded.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl::stranded {

bool may_try(const ClusterState& state, const JobRow& job) {
    const std::set<Arrived>& gangs = state.stranded_gangs();
    return std::any_of(gangs.begin(), gangs.end(), [&](const Arrived& one) {
        const JobRow& other = state.job(one.second);
        return other.pool == job.pool && other.key != job.key;
    });
}

bool may_stop(const JobRow& job, const JobRow& other) {
    if (planted(PlantedBug::stop_no_stranded_gangs)) return false;
    // What changed since this Plan began took it out of the line: it is on its way, or its room is.
    return other.is_stranded && other.waits_in.exists() && other.pool == job.pool &&
           other.key != job.key && other.priority < kSystemPriority;
}

bool may_start_anew(const JobRow& job) { return job.is_stranded && job.priority < kSystemPriority; }

std::string why(const ClusterState& state, const JobRow& job, const JobRow& other) {
    return "stopped because it had lacked ranks of its gang for " +
           explain_parts::span(state.now() - other.short_since) + " and job " + to_string(job.key) +
           " fits on what it held";
}

std::string why_anew(const ClusterState& state, const JobRow& job) {
    return "stopped because it had lacked ranks of its gang for " +
           explain_parts::span(state.now() - job.short_since) + " and fits elsewhere as a whole";
}

}  // namespace gpuctl::stranded
