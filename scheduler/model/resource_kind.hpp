#pragma once
// The kind of a resource decides the unit of its amount: thousandths for GPUs and CPU, bytes for
// memory, a count for everything else (bytes for an extended resource that holds storage).

#include <boost/describe.hpp>
#include <cstdint>

namespace gpuctl {

enum class ResourceKind : std::uint8_t {
    cpu,
    memory,
    pod_slots,
    gpu,
    extended,
    gpu_part,  // a fraction of one GPU
    host_port
};
BOOST_DESCRIBE_ENUM(ResourceKind, cpu, memory, pod_slots, gpu, extended, gpu_part, host_port)

}  // namespace gpuctl
