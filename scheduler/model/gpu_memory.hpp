#pragma once
// How much memory a GPU has, by its model's label, and what part of it an amount of memory is. An
// amount that the label names counts in GiB, as the names of models mean it: 20Gi of an A100-80G is
// a quarter.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

// By what the label says, else by the vendors' data sheets; of a model that comes with several
// amounts the least ("A100": 40). Nothing: neither tells.
std::optional<Bytes> gpu_memory_of(std::string_view gpu_model);

// Thousandths of a GPU, rounded up, on that of these models that has the least. An error says why
// there is none: no models, one whose memory is not known, one with less than that.
Result<GpuMilli> part_by_memory(Bytes wanted, const std::vector<std::string>& gpu_models);

}  // namespace gpuctl
