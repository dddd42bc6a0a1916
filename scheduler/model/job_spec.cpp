#include "scheduler/model/job_spec.hpp"

namespace gpuctl {

Resources pod_request(const JobSpec& spec) {
    Resources request;
    request.cpu = spec.cpu;
    request.memory = spec.memory;
    request.pods = 1;
    if (spec.gpu.amount > GpuMilli{0}) {
        request.gpus.push_back({spec.gpu.resource, spec.gpu.amount});
    }
    return request;
}

}  // namespace gpuctl
