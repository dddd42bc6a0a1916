#pragma once
// Keys and values of labels as users write them.

#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::wire {

struct LabelKey {
    std::string key;      // with its domain: "runwhere.ai/gpu-type"
    std::string warning;  // what was changed of it; empty: nothing that its user must know
};

// Without a domain a key is ours, in kebab case: "gpuType" is "runwhere.ai/gpu-type". Domains of
// earlier products become ours, with a warning. Other domains stay, but those of Kubernetes are
// refused. ValidationFailed: not a label key.
Result<LabelKey> read_label_key(std::string_view written, std::string_view prefix);

// ValidationFailed: empty, or not a label value.
Result<void> check_label_value(std::string_view key, std::string_view value);

}  // namespace gpuctl::wire
