#pragma once
// Names of the clusters that gpuctld can run on. A name is the value of cluster.mode and of the
// section below cluster that only this backend reads. The behaviour of a backend is a row of
// daemon/app/backends.cpp, what its section says a row of backend_sections.cpp; neither compiles
// while a row is missing.

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuctl::config {

#define GPUCTL_BACKENDS(X) \
    X(embedded)            \
    X(kubernetes)

enum class ClusterMode : std::uint8_t {
#define GPUCTL_AS_ENUMERATOR(name) name,
    GPUCTL_BACKENDS(GPUCTL_AS_ENUMERATOR)
#undef GPUCTL_AS_ENUMERATOR
};

inline constexpr auto kClusterModeNames = std::to_array<std::string_view>({
#define GPUCTL_AS_NAME(name) #name,
    GPUCTL_BACKENDS(GPUCTL_AS_NAME)
#undef GPUCTL_AS_NAME
});

constexpr std::string_view to_string(ClusterMode mode) {
    return kClusterModeNames[static_cast<std::size_t>(mode)];
}

}  // namespace gpuctl::config
