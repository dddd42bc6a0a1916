#pragma once
// Why a node never accepts a pod, independent of its free capacity. The order is that of the
// filters of kube-scheduler, so that the first refusal is the one that its users expect.

#include <boost/describe.hpp>
#include <cstdint>

namespace gpuctl {

enum class NodeRefusal : std::uint8_t {
    none,
    unschedulable,
    unhealthy,
    taint,
    selector,
    gpu_model,
    sliced_gpus,
    topology,
    volume
};
BOOST_DESCRIBE_ENUM(NodeRefusal, none, unschedulable, unhealthy, taint, selector, gpu_model,
                    sliced_gpus, topology, volume)

}  // namespace gpuctl
