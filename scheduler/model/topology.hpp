#pragma once
// Where a node stands: host, NVLink island, rack, block of racks. What two nodes share of it
// decides how fast ranks on them talk, and what one broken switch takes down (docs/adr/0019).

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl {

// From the inside to the outside. A host is in one rack, a rack in one block; an island is inside
// a rack, or is a rack of its own.
enum class TopologyLevel : std::uint8_t { none, host, nvlink, rack, block };
BOOST_DESCRIBE_ENUM(TopologyLevel, none, host, nvlink, rack, block)
inline constexpr std::size_t kTopologyLevels = 5;  // `none` among them
constexpr std::size_t at(TopologyLevel level) { return static_cast<std::size_t>(level); }
constexpr std::string_view to_string(TopologyLevel level) {
    constexpr std::string_view names[] = {"none", "host", "nvlink", "rack", "block"};
    return names[at(level)];
}

// What the ranks of a job ask of each other's places. `none` asks nothing.
struct TopologyRules {
    TopologyLevel required = TopologyLevel::none;   // all of them in one domain of this level
    TopologyLevel preferred = TopologyLevel::none;  // in as few domains of it as can be
    TopologyLevel spread = TopologyLevel::none;     // no two of them in one domain of it
    [[nodiscard]] constexpr bool any() const {
        return required != TopologyLevel::none || preferred != TopologyLevel::none ||
               spread != TopologyLevel::none;
    }
    friend auto operator<=>(const TopologyRules&, const TopologyRules&) = default;
};
BOOST_DESCRIBE_STRUCT(TopologyRules, (), (required, preferred, spread))

// What is wrong with rules that nobody could follow, or "".
std::string problem_with(const TopologyRules& rules);

// The names of a node's domains; empty: nobody said. Equal names of one level are one domain.
struct NodeTopology {
    std::string host;    // never empty on a node that is known
    std::string nvlink;  // names of islands are taken as unique in the cluster
    std::string rack;    // with its block, where that is known: racks are numbered anew in each
    std::string block;
    [[nodiscard]] const std::string& of(TopologyLevel level) const;
    friend auto operator<=>(const NodeTopology&, const NodeTopology&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeTopology, (), (host, nvlink, rack, block))

// Node labels that name a domain, by level; the first that a node carries counts. One of ours,
// prefix/<level>, comes before them all.
struct TopologyKeys {
    std::vector<std::string> host = {"cloud.google.com/gce-topology-host"};
    std::vector<std::string> nvlink = {"nvidia.com/gpu.clique",
                                       "network.topology.nvidia.com/accelerator",
                                       "topology.k8s.aws/ultraserver-id"};
    std::vector<std::string> rack = {
        "topology.kubernetes.io/rack", "cloud.google.com/gce-topology-subblock",
        "oci.oraclecloud.com/host.rack_id", "network.topology.nvidia.com/leaf",
        "topology.k8s.aws/network-node-layer-3"};
    std::vector<std::string> block = {
        "topology.kubernetes.io/block", "cloud.google.com/gce-topology-block",
        "oci.oraclecloud.com/host.network_block_id", "network.topology.nvidia.com/spine",
        "topology.k8s.aws/network-node-layer-2"};
    [[nodiscard]] const std::vector<std::string>& of(TopologyLevel level) const;
    friend auto operator<=>(const TopologyKeys&, const TopologyKeys&) = default;
};

NodeTopology topology_of(const std::string& node, const std::map<std::string, std::string>& labels,
                         const std::string& label_prefix, const TopologyKeys& keys);
// "rack", or one of the labels that name racks; a host is also meant by kubernetes.io/hostname.
std::optional<TopologyLevel> topology_level_of(std::string_view text,
                                               const std::string& label_prefix,
                                               const TopologyKeys& keys);

}  // namespace gpuctl
