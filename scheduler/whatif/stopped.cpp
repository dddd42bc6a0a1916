#include "scheduler/whatif/stopped.hpp"

#include <algorithm>
#include <map>

namespace gpuctl::whatif {

std::vector<StoppedJob> by_job(const std::vector<StoppedPod>& pods, std::size_t first) {
    std::map<ObjectKey, StoppedJob> jobs;
    for (std::size_t i = first; i < pods.size(); ++i) {
        const StoppedPod& pod = pods[i];
        StoppedJob& job = jobs[pod.job];
        job.key = pod.job;
        job.gpus += pod.gpus;
        job.lost_gpu_ms += pod.lost_gpu_ms;
        job.goes_on = pod.job_goes_on;
        job.pods.push_back(pod.pod);
    }
    std::vector<StoppedJob> out;
    for (auto& [key, job] : jobs) {
        std::sort(job.pods.begin(), job.pods.end());
        out.push_back(std::move(job));
    }
    return out;
}

std::vector<StoppedJob> in_any_way(const std::vector<std::vector<StoppedJob>>& ways) {
    std::map<ObjectKey, StoppedJob> most;
    for (const std::vector<StoppedJob>& way : ways) {
        for (const StoppedJob& job : way) {
            const auto [at, is_new] = most.try_emplace(job.key, job);
            if (!is_new && at->second.gpus < job.gpus) at->second = job;
        }
    }
    std::vector<StoppedJob> out;
    for (auto& [key, job] : most) {
        job.at_most = !std::all_of(ways.begin(), ways.end(), [&one = job](const auto& way) {
            return std::find(way.begin(), way.end(), one) != way.end();
        });
        out.push_back(std::move(job));
    }
    return out;
}

}  // namespace gpuctl::whatif
