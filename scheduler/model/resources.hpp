#pragma once
// What a pod asks for and what a node offers.

#include <boost/describe.hpp>
#include <string>
#include <vector>

#include "scheduler/base/units.hpp"

namespace gpuctl {

// GPUs of one resource name ("nvidia.com/gpu"), in thousandths.
struct GpuAmount {
    std::string resource;
    GpuMilli amount;
    friend auto operator<=>(const GpuAmount&, const GpuAmount&) = default;
};
BOOST_DESCRIBE_STRUCT(GpuAmount, (), (resource, amount))

// Any other countable resource (ephemeral-storage, hugepages-2Mi, rdma/hca), in its own unit.
struct ExtendedAmount {
    std::string resource;
    std::int64_t amount = 0;
    friend auto operator<=>(const ExtendedAmount&, const ExtendedAmount&) = default;
};
BOOST_DESCRIBE_STRUCT(ExtendedAmount, (), (resource, amount))

// `gpus` and `extended` are sorted by resource name, without duplicates and without zero amounts,
// so that equal contents compare equal. `pods` is 1 for a pod and the pod limit for a node.
struct Resources {
    CpuMilli cpu;
    Bytes memory;
    std::int64_t pods = 0;
    std::vector<GpuAmount> gpus;
    std::vector<ExtendedAmount> extended;
    friend auto operator<=>(const Resources&, const Resources&) = default;
};
BOOST_DESCRIBE_STRUCT(Resources, (), (cpu, memory, pods, gpus, extended))

// All GPUs of a pod or node, whatever their vendor; slices count as the share they are.
GpuMilli gpus_total(const Resources& resources);

}  // namespace gpuctl
