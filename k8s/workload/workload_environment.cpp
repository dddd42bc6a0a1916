// Environment variables that we add to a container. A user's own value always wins: ours are only
// added where the name is free.

#include <algorithm>

#include "k8s/workload/workload_parts.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl::k8s {

namespace {

// In the user's order; of equal names the last one counts, as in a container's own list
// (server-side apply refuses duplicates).
Json user_environment(const JobSpec& spec) {
    Json list = Json::array();
    for (const EnvironmentVariable& variable : spec.environment) {
        Json entry = {{"name", variable.name}};
        Json from = variable.value_from_json.empty()
                        ? Json()
                        : Json::parse(variable.value_from_json, nullptr, false);
        if (from.is_object()) {
            entry["valueFrom"] = std::move(from);
        } else {
            entry["value"] = variable.value;
        }
        const auto same = std::find_if(list.begin(), list.end(), [&](const Json& other) {
            return other["name"] == variable.name;
        });
        if (same != list.end()) list.erase(same);
        list.push_back(std::move(entry));
    }
    return list;
}

void offer(Json& list, Json entry) {
    const bool taken = std::any_of(list.begin(), list.end(), [&](const Json& other) {
        return other["name"] == entry["name"];
    });
    if (!taken) list.push_back(std::move(entry));
}

void offer(Json& list, std::string_view name, std::string value) {
    offer(list, Json{{"name", name}, {"value", std::move(value)}});
}

// torchrun sets the process-level values for its children; these are the pod-level ones.
void offer_distributed(Json& list, const JobSpec& spec) {
    const std::string ranks = std::to_string(spec.replicas_max);
    const Json index = {
        {"fieldRef",
         {{"fieldPath", "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}};
    // Rank 0 by name: the address exists as soon as its pod has an IP, so workloads must retry.
    offer(list, "MASTER_ADDR",
          has_ranks(spec)
              ? spec.key.name + "-0." + service_name(spec) + "." + spec.key.namespace_name + ".svc"
              : "127.0.0.1");
    offer(list, "MASTER_PORT", "29500");
    if (spec.replicas_min == spec.replicas_max) {
        offer(list, "WORLD_SIZE", ranks);
        offer(list, "NNODES", ranks);
    } else {
        // A Job's template cannot change with its size, so a fixed number would be wrong after a
        // resize: give the range in torchrun's form, and no WORLD_SIZE, which torchrun computes.
        offer(list, "NNODES", std::to_string(spec.replicas_min) + ":" + ranks);
    }
    for (const char* name : {"RANK", "NODE_RANK"}) {
        if (is_indexed(spec)) {
            offer(list, Json{{"name", name}, {"valueFrom", index}});
        } else {
            offer(list, name, "0");
        }
    }
    offer(list, "NPROC_PER_NODE", std::to_string(std::max<std::int64_t>(1, spec.gpu.count)));
}

// GPU images request all devices from the container runtime by default; a pod that requested none
// gets none.
void offer_hidden_devices(Json& list) {
    for (const GpuVendor& vendor : gpu_vendors()) {
        if (vendor.visible_devices_environment.empty()) continue;
        offer(list, vendor.visible_devices_environment, std::string{vendor.no_devices});
    }
}

// The device is known only when the pod is bound: the binding writes it to the annotation that this
// variable reads. A user's own value would expose GPUs of other pods.
void set_visible_part(Json& list, const JobSpec& spec, const LabelKeys& labels) {
    const std::string name = visible_devices_variable(spec);
    std::erase_if(list.get_ref<Json::array_t&>(),
                  [&name](const Json& other) { return other["name"] == name; });
    const std::string path = "metadata.annotations['" + labels.text(OwnKey::gpu_device) + "']";
    offer(list, Json{{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}});
}

}  // namespace

std::string visible_devices_variable(const JobSpec& spec) {
    const GpuVendor* vendor = find_gpu_vendor(spec.gpu.vendor);
    return vendor == nullptr ? "" : std::string{vendor->visible_devices_environment};
}

// The user's own value wins, then that of the pool, then what the nodes say about their network.
Json container_environment(const JobSpec& spec, const WorkloadSettings& settings,
                           const PodDefaults& defaults) {
    Json list = user_environment(spec);
    for (const auto& [name, value] : defaults.environment) offer(list, name, value);
    if (is_gang(spec) && settings.network) {
        for (const auto& [name, value] : network_variables(spec, settings.network(spec))) {
            offer(list, name, value);
        }
    }
    if (is_gang(spec) && (spec.replicas_max > 1 || spec.gpu.count > 1)) {
        offer_distributed(list, spec);
    }
    if (spec.gpu.mode == GpuMode::none) offer_hidden_devices(list);
    if (spec.gpu.mode == GpuMode::fraction) set_visible_part(list, spec, settings.labels);
    return list;
}

}  // namespace gpuctl::k8s
