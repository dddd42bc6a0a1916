#include "k8s/convert/convert_node.hpp"

#include <algorithm>

#include "k8s/convert/convert_amounts.hpp"
#include "k8s/convert/convert_pod_parts.hpp"
#include "k8s/json/object_time.hpp"
#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/policy/policy.hpp"

namespace gpuctl::k8s {

namespace {

std::string_view label_of(const NodeFacts& node, std::string_view key) {
    const auto found = node.labels.find(std::string(key));
    return found == node.labels.end() ? std::string_view{} : std::string_view{found->second};
}

// Our own label first, then the labels of vendors' discovery.
std::string gpu_model_of(const NodeFacts& node, std::string_view own) {
    if (!own.empty()) return std::string(own);
    for (const std::string_view old : {"nvidia.com/gpu-type", "nvidia.com/gpuType"}) {
        if (const auto value = label_of(node, old); !value.empty()) return std::string(value);
    }
    for (const GpuVendor& vendor : gpu_vendors()) {
        if (vendor.model_label.empty()) continue;
        const auto value = label_of(node, vendor.model_label);
        if (!value.empty()) return std::string(value);
    }
    return {};
}

void read_health(std::string_view value, NodeFacts& node) {
    if (value == "failed") node.unhealthy = "marked as failed";
}

void read_metadata(JsonCursor& cursor, const LabelKeys& labels, NodeFacts& node) {
    OwnValue pool;
    OwnValue gpu_type;
    cursor.object([&](std::string_view key) {
        if (key == "name") {
            node.name = cursor.string();
        } else if (key == "uid") {
            node.uid = cursor.string();
        } else if (key == "creationTimestamp") {
            node.created_at = parse_object_time(cursor.string());
        } else if (key == "labels") {
            cursor.object([&](std::string_view label) {
                const std::string_view value = cursor.string();
                node.labels.insert_or_assign(std::string(label), std::string(value));
                const auto found = labels.recognise(label);
                if (found.key == OwnKey::pool) pool.offer(value, found.old_prefix);
                if (found.key == OwnKey::gpu_type) gpu_type.offer(value, found.old_prefix);
                if (found.key == OwnKey::health) read_health(value, node);
                if (found.key == OwnKey::drain) node.draining = value == "true";
            });
        } else if (key == "annotations") {
            cursor.object([&](std::string_view annotation) {
                const std::string_view value = cursor.string();
                if (labels.recognise(annotation).key == OwnKey::health) read_health(value, node);
            });
        } else {
            cursor.skip();
        }
    });
    node.pool = pool.text.empty() ? std::string(kDefaultPool) : std::string(pool.text);
    node.gpu_model = gpu_model_of(node, gpu_type.text);
    node.topology = topology_of(node.name, node.labels, labels.prefix(), labels.topology());
}

void read_taint(JsonCursor& cursor, NodeFacts& node) {
    Taint taint;
    bool known = false;
    cursor.object([&](std::string_view key) {
        if (key == "key") {
            taint.key = cursor.string();
        } else if (key == "value") {
            taint.value = cursor.string();
        } else if (key == "effect") {
            const auto effect = taint_effect_of(cursor.string());
            known = effect.has_value();
            taint.effect = effect.value_or(TaintEffect::no_schedule);
        } else {
            cursor.skip();
        }
    });
    // An effect of a later Kubernetes release: ignored, as today's kube-scheduler ignores it,
    // because no toleration of it is known.
    if (known) node.taints.push_back(std::move(taint));
}

void read_address(JsonCursor& cursor, NodeFacts& node) {
    std::string_view type;
    std::string_view address;
    cursor.object([&](std::string_view key) {
        if (key == "type") {
            type = cursor.string();
        } else if (key == "address") {
            address = cursor.string();
        } else {
            cursor.skip();
        }
    });
    if (type == "InternalIP" && node.address.empty()) node.address = address;
}

void read_condition(JsonCursor& cursor, const std::vector<std::string>& unhealthy,
                    NodeFacts& node) {
    std::string_view type;
    std::string_view status;
    cursor.object([&](std::string_view key) {
        if (key == "type") {
            type = cursor.string();
        } else if (key == "status") {
            status = cursor.string();
        } else {
            cursor.skip();
        }
    });
    if (type == "Ready") node.ready = status == "True";
    const bool says_so = std::find(unhealthy.begin(), unhealthy.end(), type) != unhealthy.end();
    if (says_so && status == "True" && node.unhealthy.empty()) node.unhealthy = type;
}

void read_status(JsonCursor& cursor, const LabelKeys& labels, NodeFacts& node,
                 Resources& capacity) {
    bool unreadable = false;  // reported by the kubelet
    node.ready = false;       // until the Ready condition says so
    cursor.object([&](std::string_view key) {
        if (key == "allocatable") {
            node.allocatable = to_resources(read_amounts(cursor, unreadable), 1);
        } else if (key == "addresses") {
            cursor.array([&] { read_address(cursor, node); });
        } else if (key == "conditions") {
            cursor.array([&] { read_condition(cursor, labels.unhealthy_conditions(), node); });
        } else if (key == "capacity") {
            capacity = to_resources(read_amounts(cursor, unreadable), 1);
        } else {
            cursor.skip();
        }
    });
}

}  // namespace

Result<NodeFacts> read_node(std::string_view json, const LabelKeys& labels) {
    JsonCursor cursor{json};
    NodeFacts node;
    Resources capacity;
    node.ready = false;
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            read_metadata(cursor, labels, node);
        } else if (key == "spec") {
            cursor.object([&](std::string_view spec_key) {
                if (spec_key == "unschedulable") {
                    node.unschedulable = cursor.boolean();
                } else if (spec_key == "taints") {
                    cursor.array([&] { read_taint(cursor, node); });
                } else {
                    cursor.skip();
                }
            });
        } else if (key == "status") {
            read_status(cursor, labels, node, capacity);
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || node.name.empty()) {
        return make_error(
            ErrorCode::InvalidJson,
            "a node from the API server cannot be read: it is cut, malformed, or has no name");
    }
    convert_gpu_names(node.labels, labels, node.allocatable);
    convert_gpu_names(node.labels, labels, capacity);
    // GPUs in capacity and not in allocatable: the device plugin reports them as unhealthy.
    const GpuMilli lost = gpus_total(capacity) - gpus_total(node.allocatable);
    node.gpus_unhealthy = std::max<std::int64_t>(lost.value() / kGpuMilliPerGpu, 0);
    return node;
}

std::uint64_t fingerprint(const NodeFacts& facts, std::string& scratch) {
    scratch.clear();
    ArchiveWriter{scratch}.write(facts);
    return hash64(scratch);
}

}  // namespace gpuctl::k8s
