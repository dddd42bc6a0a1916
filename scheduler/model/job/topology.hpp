#pragma once
// The location of a node: host, NVLink island, rack, block of racks. The levels that two nodes
// share decide the bandwidth between ranks on them, and which ranks stop together when a switch
// fails (docs/adr/0019).

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl {

// From the inside to the outside. A host is in one rack, a rack is in one block. An island is
// inside a rack, or is a rack of its own.
enum class TopologyLevel : std::uint8_t { none, host, nvlink, rack, block };
BOOST_DESCRIBE_ENUM(TopologyLevel, none, host, nvlink, rack, block)
inline constexpr std::size_t kTopologyLevels = 5;  // including `none`
constexpr std::size_t at(TopologyLevel level) { return static_cast<std::size_t>(level); }
constexpr std::string_view to_string(TopologyLevel level) {
    constexpr std::string_view names[] = {"none", "host", "nvlink", "rack", "block"};
    return names[at(level)];
}

// Placement rules of the ranks of a job relative to each other. `none`: no rule.
struct TopologyRules {
    TopologyLevel required = TopologyLevel::none;  // all ranks in one domain of this level
    // the ranks in as few domains of this level as possible
    TopologyLevel preferred = TopologyLevel::none;
    TopologyLevel spread = TopologyLevel::none;  // no two ranks in one domain of this level
    [[nodiscard]] constexpr bool any() const {
        return required != TopologyLevel::none || preferred != TopologyLevel::none ||
               spread != TopologyLevel::none;
    }
    friend auto operator<=>(const TopologyRules&, const TopologyRules&) = default;
};
BOOST_DESCRIBE_STRUCT(TopologyRules, (), (required, preferred, spread))

// The reason why no placement can satisfy the rules, or "".
std::string problem_with(const TopologyRules& rules);

// The names of the domains that a node is in; empty: unknown. Equal names of one level mean the
// same domain.
struct NodeTopology {
    std::string host;    // never empty for a known node
    std::string nvlink;  // island names are assumed to be unique in the cluster
    std::string rack;  // includes its block if known, because rack numbers may repeat in each block
    std::string block;
    [[nodiscard]] const std::string& of(TopologyLevel level) const;
    friend auto operator<=>(const NodeTopology&, const NodeTopology&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeTopology, (), (host, nvlink, rack, block))

// Node labels that name a domain, by level. The first label that a node carries counts. Our own
// label, prefix/<level>, has precedence.
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
// The level named by "rack", or by a label that names racks; kubernetes.io/hostname also means a
// host.
std::optional<TopologyLevel> topology_level_of(std::string_view text,
                                               const std::string& label_prefix,
                                               const TopologyKeys& keys);

}  // namespace gpuctl
