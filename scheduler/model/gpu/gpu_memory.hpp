#pragma once
// The memory of a GPU by the label of its model, and the fraction of the GPU that an amount of
// memory is. An amount in a label counts in GiB, as in the names of models: 20Gi of an A100-80G is
// a quarter.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

// The memory by the label, or else by the data sheets of the vendors. If a model is sold with
// several sizes, the smallest ("A100": 40). Nothing: unknown.
std::optional<Bytes> gpu_memory_of(std::string_view gpu_model);

// The fraction in thousandths of a GPU, rounded up, on the model with the least memory. An Error if
// there are no models, if the memory of a model is unknown, or if a model has less memory than
// `wanted`.
Result<GpuMilli> part_by_memory(Bytes wanted, const std::vector<std::string>& gpu_models);

}  // namespace gpuctl
