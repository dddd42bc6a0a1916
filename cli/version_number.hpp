#pragma once

#include <string_view>

namespace gpuctl::cli {

inline constexpr std::string_view kVersion = GPUCTL_VERSION;

}  // namespace gpuctl::cli
