#include "scheduler/plan/estimate/start_estimate.hpp"

#include <limits>

#include "scheduler/plan/estimate/start_forecast.hpp"

namespace gpuctl {

std::map<JobId, StartEstimate> estimate_starts(const ClusterState& state, PoolId pool,
                                               const std::vector<JobId>& line) {
    StartForecast forecast{state, pool, line};
    (void)forecast.advance(state, std::numeric_limits<std::int64_t>::max());
    std::map<JobId, StartEstimate> out;
    for (const StartForecast::Answer& one : forecast.answers()) out.emplace(one.job, one.start);
    return out;
}

}  // namespace gpuctl
