#include "scheduler/whatif/evicted.hpp"

#include <algorithm>
#include <map>

namespace gpuctl::whatif {

std::vector<EvictedJob> by_job(const std::vector<EvictedPod>& pods, std::size_t first) {
    std::map<ObjectKey, EvictedJob> jobs;
    for (std::size_t i = first; i < pods.size(); ++i) {
        const EvictedPod& pod = pods[i];
        EvictedJob& job = jobs[pod.job];
        job.key = pod.job;
        job.gpus += pod.gpus;
        job.lost_gpu_ms += pod.lost_gpu_ms;
        job.goes_on = pod.job_goes_on;
        job.pods.push_back(pod.pod);
    }
    std::vector<EvictedJob> out;
    for (auto& [key, job] : jobs) {
        std::sort(job.pods.begin(), job.pods.end());
        out.push_back(std::move(job));
    }
    return out;
}

std::vector<EvictedJob> in_any_way(const std::vector<std::vector<EvictedJob>>& ways) {
    std::map<ObjectKey, EvictedJob> most;
    for (const std::vector<EvictedJob>& way : ways) {
        for (const EvictedJob& job : way) {
            const auto [at, is_new] = most.try_emplace(job.key, job);
            if (!is_new && at->second.gpus < job.gpus) at->second = job;
        }
    }
    std::vector<EvictedJob> out;
    for (auto& [key, job] : most) {
        job.at_most = !std::all_of(ways.begin(), ways.end(), [&one = job](const auto& way) {
            return std::find(way.begin(), way.end(), one) != way.end();
        });
        out.push_back(std::move(job));
    }
    return out;
}

}  // namespace gpuctl::whatif
