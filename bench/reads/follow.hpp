#pragma once
// Followers of logs in a mixed load.

#include <cstdint>
#include <string>

#include "bench/reads/http_load.hpp"
#include "bench/reads/world.hpp"

namespace gpuctl::bench {

// Opens `wanted` followers of running jobs, several of one job if fewer jobs run.
inline void follow_running_jobs(std::uint16_t port, int jobs, int wanted, Followers& followers) {
    const int tries_max = wanted * 10 + jobs;
    for (int tries = 0, open = 0; tries < tries_max && open < wanted; ++tries) {
        const int number = tries % jobs;
        if (!job_runs(number)) continue;
        const std::string target =
            "/api/v1/jobs/" + job_name(number) + "/logs/ws?namespace=" + job_namespace(number);
        if (followers.open(port, target)) ++open;
    }
}

}  // namespace gpuctl::bench
