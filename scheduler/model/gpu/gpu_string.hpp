#pragma once
// The GPU resource string: amount ["(" spec ")"], e.g. 2, 0.5, 2(V100), 1(nvidia,A100), 0.5(vgpu),
// 1(mig-1g.10gb), 8G,0.5(V100), -1. Full-width brackets and commas and inner spaces are accepted.
// Anything else is refused with the position of the first invalid character.

#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"
#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl {

Result<GpuRequest> parse_gpu_string(std::string_view text);
// canonical form; parsing it gives the same request
std::string format_gpu_string(const GpuRequest& request);

}  // namespace gpuctl
