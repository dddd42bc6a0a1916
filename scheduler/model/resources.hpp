#pragma once
// The request of a pod and the offer of a node.

#include <boost/describe.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/units.hpp"

namespace gpuctl {

// A share of a whole GPU: `parts` / `of`.
struct GpuShare {
    std::int32_t parts = 1;
    std::int32_t of = 1;
    friend auto operator<=>(const GpuShare&, const GpuShare&) = default;
};
BOOST_DESCRIBE_STRUCT(GpuShare, (), (parts, of))

// GPUs of one resource name ("nvidia.com/gpu"), in thousandths.
struct GpuAmount {
    std::string resource;
    GpuMilli amount;
    // The share, if the name does not state it: for slices that a node offers as GPUs, and for
    // replicas of a GPU that several containers share (docs/adr/0021).
    GpuShare share{};
    friend auto operator<=>(const GpuAmount&, const GpuAmount&) = default;
};
BOOST_DESCRIBE_STRUCT(GpuAmount, (), (resource, amount, share))

// Any other countable resource (ephemeral-storage, hugepages-2Mi, rdma/hca), in its own unit.
struct ExtendedAmount {
    std::string resource;
    std::int64_t amount = 0;
    friend auto operator<=>(const ExtendedAmount&, const ExtendedAmount&) = default;
};
BOOST_DESCRIBE_STRUCT(ExtendedAmount, (), (resource, amount))

inline constexpr std::string_view kEveryAddress = "0.0.0.0";

// A host port of a pod, at one address of the node or at all addresses.
struct HostPort {
    std::string protocol;  // TCP, UDP, SCTP
    std::int32_t port = 0;
    std::string address;  // kEveryAddress: at all addresses
    friend auto operator<=>(const HostPort&, const HostPort&) = default;
};
BOOST_DESCRIBE_STRUCT(HostPort, (), (protocol, port, address))

// `gpus` and `extended` are sorted by resource name, without duplicates and zero amounts, so that
// equal contents compare equal. `pods` is 1 for a pod and the pod limit for a node.
struct Resources {
    CpuMilli cpu;
    Bytes memory;
    std::int64_t pods = 0;
    std::vector<GpuAmount> gpus;
    std::vector<ExtendedAmount> extended;
    // Sorted, without duplicates. Empty for a node: a node has each port once.
    std::vector<HostPort> host_ports;
    friend auto operator<=>(const Resources&, const Resources&) = default;
};
BOOST_DESCRIBE_STRUCT(Resources, (), (cpu, memory, pods, gpus, extended, host_ports))

// The amount in whole GPUs, rounded up: a quota must not be exceeded by rounding.
GpuMilli in_whole_gpus(const GpuAmount& gpus);
// The sum over all GPUs of a pod or node, whatever their vendor. Slices count by their share.
GpuMilli gpus_total(const Resources& resources);
// The share that the offering node states for the resource; a whole GPU if the node does not offer
// it.
GpuShare share_offered(const Resources& offered, std::string_view resource);

}  // namespace gpuctl
