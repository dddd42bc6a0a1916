#include "scheduler/model/job/job_spec.hpp"

#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {

std::int32_t speed_of(const std::vector<SizeSpeed>& speeds, std::int64_t ranks) {
    std::int32_t milli = 0;
    for (const SizeSpeed& listed : speeds) {
        if (listed.ranks <= ranks) milli = listed.milli;
    }
    return milli;
}

Resources pod_request(const JobSpec& spec) {
    Resources request;
    request.cpu = spec.cpu;
    request.memory = spec.memory;
    request.pods = 1;
    if (spec.gpu.amount > GpuMilli{0}) {
        request.gpus.push_back({spec.gpu.resource, spec.gpu.amount, spec.gpu.share});
    }
    name_slices(request, gpu_model_of(spec));
    return request;
}

void set_gpu_models(const JobSpec& spec, PlacementRules& rules) {
    rules.gpu_model = gpu_model_of(spec);
    rules.gpu_models_next = spec.gpu_types_next;
    rules.wants_whole_gpus = wants_whole_gpus(pod_request(spec));
}

}  // namespace gpuctl
