// A fraction of a GPU: requested by a pod's annotations, assigned by an annotation of its binding
// (docs/adr/0015). The pod itself requests no device: the kubelet's device manager knows only whole
// devices.

#include <algorithm>
#include <charconv>

#include "k8s/convert/convert_pod_parts.hpp"
#include "scheduler/model/gpu/gpu_string.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl::k8s {
namespace {

std::int32_t device_number(std::string_view text) {
    std::int32_t number = kNoDevice;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_read = error == std::errc{} && end == text.data() + text.size();
    return is_read && number >= 0 ? number : kNoDevice;
}

// On other nodes the device plugin would give the same card to a pod that requests a whole GPU.
void require_shared_nodes(const LabelKeys& labels, PodFacts& facts) {
    auto& selector = facts.rules.node_selector;
    const std::pair wanted{labels.text(OwnKey::gpu_sharing), std::string{"true"}};
    const auto place = std::lower_bound(selector.begin(), selector.end(), wanted);
    if (place == selector.end() || *place != wanted) selector.insert(place, wanted);
}

}  // namespace

void add_gpu_part(const MetadataParts& metadata, const LabelKeys& labels, PodFacts& facts) {
    // With a memory amount only, the share of cores is minimal; add_gpu_kind() computes the memory
    // share.
    const bool is_by_memory = metadata.gpu_fraction.text.empty();
    if (is_by_memory && metadata.gpu_memory.text.empty()) return;
    const std::string_view said = is_by_memory ? "0.001" : metadata.gpu_fraction.text;
    const std::string key = labels.text(is_by_memory ? OwnKey::gpu_memory : OwnKey::gpu_fraction);
    const auto part = parse_gpu_string(said);
    if (!part || !is_part_of_gpu(part->amount) || part->memory || !part->model.empty()) {
        facts.unsupported.push_back("the annotation " + key + " with the value " + in_quotes(said) +
                                    " instead of a part of one GPU, such as 0.5");
        return;
    }
    std::string resource{metadata.gpu_resource.text};
    if (resource.empty()) resource = part->resource;
    if (!is_gpu_resource(resource)) {
        facts.unsupported.push_back("the annotation " + labels.text(OwnKey::gpu_resource) + " is " +
                                    in_quotes(resource) + ", which is not a GPU");
        return;
    }
    std::vector<GpuAmount>& gpus = facts.request.gpus;
    const auto place = std::lower_bound(
        gpus.begin(), gpus.end(), resource,
        [](const GpuAmount& gpu, const std::string& name) { return gpu.resource < name; });
    if (place != gpus.end() && place->resource == resource) {
        facts.unsupported.push_back("a part of a GPU (annotation " + key +
                                    ") together with whole GPUs");
        return;
    }
    gpus.insert(place, {std::move(resource), part->amount});
    facts.gpu_device = device_number(metadata.gpu_device.text);
    require_shared_nodes(labels, facts);
}

}  // namespace gpuctl::k8s
