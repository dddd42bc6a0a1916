#include "k8s/workload/network_facts.hpp"

#include <algorithm>
#include <string_view>

#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/policy/policy.hpp"

namespace gpuctl::k8s {

namespace {

// The variables of each vendor's library. "": it has none, or we do not know it.
struct Collectives {
    std::string_view vendor;
    std::string_view interfaces;
    std::string_view rdma_devices;
    std::string_view peer_to_peer;  // "NVL" where GPUs have NVLink
};
constexpr Collectives kCollectives[] = {
    {"nvidia", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_P2P_LEVEL"},  // NCCL
    {"amd", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", ""},                   // RCCL reads NCCL's
    {"hygon", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", ""},                 // RCCL
    {"ascend", "HCCL_SOCKET_IFNAME", "", ""},                           // HCCL of Huawei
    {"gaudi", "HCCL_SOCKET_IFNAME", "", ""},                            // HCCL of Intel
};

std::string_view label_of(const NodeFacts& node, const std::string& key) {
    const auto found = node.labels.find(key);
    return found == node.labels.end() ? std::string_view{} : std::string_view{found->second};
}

// As NVIDIA names products with NVLink: A100-SXM4-80GB, H100-80GB-HBM3 (SXM5), H100-NVL, GB200.
bool is_nvlink_product(std::string_view product) {
    constexpr std::string_view parts[] = {"SXM", "HBM3", "NVL", "GB200", "GB300"};
    if (product.find("PCI") != std::string_view::npos) return false;
    return std::any_of(std::begin(parts), std::end(parts), [product](std::string_view part) {
        return product.find(part) != std::string_view::npos;
    });
}

bool is_name(std::string_view text) {
    constexpr std::size_t longest = 63;
    if (text.empty() || text.size() > longest) return false;
    return std::all_of(text.begin(), text.end(), [](char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return is_letter || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    });
}

std::string joined(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
}

bool is_wanted_model(const JobSpec& spec, const std::string& model) {
    const std::string first = gpu_model_of(spec);
    if (first.empty() || same_gpu_model(first, model)) return true;
    return std::any_of(spec.gpu_types_next.begin(), spec.gpu_types_next.end(),
                       [&](const std::string& next) { return same_gpu_model(next, model); });
}

}  // namespace

NetworkFacts network_facts(const NodeFacts& node, const std::string& prefix) {
    NetworkFacts facts;
    const std::string_view interface = label_of(node, prefix + "/network-interface");
    if (is_name(interface)) facts.interfaces.emplace(interface);
    const std::string_view devices = label_of(node, prefix + "/rdma-devices");
    for (std::size_t at = 0; at < devices.size();) {
        const std::size_t end = std::min(devices.find('.', at), devices.size());
        const std::string_view device = devices.substr(at, end - at);
        if (is_name(device)) facts.rdma_devices.emplace(device);
        at = end + 1;
    }
    const std::string_view said = label_of(node, prefix + "/nvlink");
    facts.has_nvlink =
        said.empty() ? is_nvlink_product(label_of(node, "nvidia.com/gpu.product")) : said == "true";
    return facts;
}

void Networks::set(const NodeFacts& node, const std::string& prefix) {
    if (gpus_total(node.allocatable) == GpuMilli{}) {
        nodes_.erase(node.name);
        return;
    }
    nodes_[node.name] = {node.pool, node.gpu_model, network_facts(node, prefix)};
}

NetworkFacts Networks::of(const JobSpec& spec) const {
    const std::string pool = spec.pool.empty() ? kDefaultPool : spec.pool;
    std::optional<NetworkFacts> common;
    bool all_have_interfaces = true;
    bool all_have_devices = true;
    for (const auto& [name, node] : nodes_) {
        if (node.pool != pool || !is_wanted_model(spec, node.gpu_model)) continue;
        if (!common) common = NetworkFacts{{}, {}, true};
        all_have_interfaces = all_have_interfaces && !node.facts.interfaces.empty();
        all_have_devices = all_have_devices && !node.facts.rdma_devices.empty();
        common->interfaces.insert(node.facts.interfaces.begin(), node.facts.interfaces.end());
        common->rdma_devices.insert(node.facts.rdma_devices.begin(), node.facts.rdma_devices.end());
        common->has_nvlink = common->has_nvlink && node.facts.has_nvlink;
    }
    if (!common) return {};
    // Devices of other nodes are ignored by the libraries, so different names may be listed
    // together.
    if (!all_have_interfaces) common->interfaces.clear();
    if (!all_have_devices) common->rdma_devices.clear();
    return *common;
}

std::vector<std::pair<std::string, std::string>> network_variables(const JobSpec& spec,
                                                                   const NetworkFacts& facts) {
    std::vector<std::pair<std::string, std::string>> variables;
    const GpuVendor* vendor = find_gpu_vendor(spec.gpu.vendor);
    const std::string_view alias = vendor == nullptr ? std::string_view{} : vendor->alias;
    const auto* const of =
        std::find_if(std::begin(kCollectives), std::end(kCollectives),
                     [alias](const Collectives& row) { return row.vendor == alias; });
    if (of == std::end(kCollectives) || spec.gpu.count == 0) return variables;
    const auto offer = [&variables](std::string_view name, std::string value) {
        if (!name.empty() && !value.empty()) variables.emplace_back(name, std::move(value));
    };
    if (spec.replicas_max > 1) {
        offer(of->interfaces, joined(facts.interfaces));
        // Gloo takes the name of an interface that exists on the node, not a list of candidates.
        if (facts.interfaces.size() == 1) offer("GLOO_SOCKET_IFNAME", joined(facts.interfaces));
        offer(of->rdma_devices, joined(facts.rdma_devices));
    }
    if (facts.has_nvlink && spec.gpu.count > 1) offer(of->peer_to_peer, "NVL");
    return variables;
}

}  // namespace gpuctl::k8s
