#pragma once
// The memory of a GPU by the label of its model, and the fraction of the GPU that an amount of
// memory is. The amount in a label counts in GiB, as model names mean it: 20Gi of an A100-80G is a
// quarter.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

// By the label, else by the data sheets of the vendors. For a model that is sold with several
// amounts, the smallest ("A100": 40). Nothing: unknown.
std::optional<Bytes> gpu_memory_of(std::string_view gpu_model);

// Thousandths of a GPU, rounded up, on the model with the least memory. An Error: no models, a
// model with unknown memory, or a model with less memory than that.
Result<GpuMilli> part_by_memory(Bytes wanted, const std::vector<std::string>& gpu_models);

}  // namespace gpuctl
