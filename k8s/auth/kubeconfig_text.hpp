#pragma once
// Text encodings found in a kubeconfig.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

// Standard alphabet with padding; line breaks are allowed, anything else is refused.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace gpuctl::k8s
