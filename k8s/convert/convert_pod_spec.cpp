// A pod's spec: its requests, its placement rules, and features that are not supported yet.

#include <algorithm>
#include <cstdint>

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {

namespace {

void refuse(SpecParts& parts, std::string feature) {
    auto& list = parts.unsupported;
    if (std::find(list.begin(), list.end(), feature) == list.end()) {
        list.push_back(std::move(feature));
    }
}

// With hostNetwork the API server sets hostPort on every containerPort.
void read_ports(JsonCursor& cursor, std::vector<HostPort>& ports) {
    cursor.array([&] {
        HostPort port{"TCP", 0, std::string{kEveryAddress}};
        cursor.object([&](std::string_view key) {
            if (key == "hostPort") {
                port.port = static_cast<std::int32_t>(
                    std::clamp<std::int64_t>(cursor.integer(), 0, UINT16_MAX));
            } else if (key == "hostIP") {
                if (const auto address = cursor.string(); !address.empty()) port.address = address;
            } else if (key == "protocol") {
                if (const auto protocol = cursor.string(); !protocol.empty()) {
                    port.protocol = protocol;
                }
            } else {
                cursor.skip();
            }
        });
        if (port.port > 0) ports.push_back(std::move(port));
    });
}

Amounts read_requests(JsonCursor& cursor, bool& unreadable) {
    Amounts requests;
    cursor.object([&](std::string_view key) {
        if (key == "requests") {  // the API server has copied limits there
            requests = read_amounts(cursor, unreadable);
        } else {
            cursor.skip();
        }
    });
    return requests;
}

ContainerParts read_container(JsonCursor& cursor, bool& unreadable) {
    ContainerParts container;
    cursor.object([&](std::string_view key) {
        if (key == "name") {
            container.name = cursor.string();
        } else if (key == "resources") {
            container.requests = read_requests(cursor, unreadable);
        } else if (key == "ports") {
            read_ports(cursor, container.host_ports);
        } else if (key == "restartPolicy") {
            container.sidecar = cursor.string() == "Always";
        } else {
            cursor.skip();
        }
    });
    return container;
}

// Volume types that exist on every node, or that every node can reach. Other types bind a pod to
// nodes in ways that are not evaluated: disks of one zone, devices that attach to one node at a
// time, claims that are made with the pod (ephemeral).
bool is_placement_free(std::string_view source) {
    constexpr std::string_view kinds[] = {
        "emptyDir", "configMap", "secret", "projected", "downwardAPI", "hostPath", "image",
        "gitRepo",  "csi",       "nfs",    "cephfs",    "glusterfs",   "quobyte",  "azureFile"};
    return std::find(std::begin(kinds), std::end(kinds), source) != std::end(kinds);
}

void read_volume(JsonCursor& cursor, SpecParts& parts) {
    cursor.object([&](std::string_view key) {
        if (key == "persistentVolumeClaim") {
            std::string_view claim;
            cursor.object([&](std::string_view claim_key) {
                if (claim_key == "claimName") {
                    claim = cursor.string();
                } else {
                    cursor.skip();
                }
            });
            parts.claims.emplace_back(claim);
        } else {
            if (key != "name" && !is_placement_free(key)) {
                refuse(parts, "volume type " + std::string(key));
            }
            cursor.skip();
        }
    });
}

bool array_has_elements(JsonCursor& cursor) {
    bool any = false;
    cursor.array([&] {
        any = true;
        cursor.skip();
    });
    return any;
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void read_affinity(JsonCursor& cursor, SpecParts& parts) {
    cursor.object([&](std::string_view kind) {
        cursor.object([&](std::string_view key) {
            if (key == kPreferred && kind == "nodeAffinity") {
                cursor.array([&] { parts.preferred.push_back(read_preferred(cursor)); });
            } else if (key != kRequired) {
                cursor.skip();  // preferences only score
            } else if (kind == "nodeAffinity") {
                parts.rules.required_affinity = read_node_selector(cursor);
            } else if (array_has_elements(cursor)) {
                refuse(parts, kind == "podAffinity" ? "required pod affinity"
                                                    : "required pod anti-affinity");
            }
        });
    });
}

bool read_spread(JsonCursor& cursor) {
    bool binding = false;
    cursor.array([&] {
        cursor.object([&](std::string_view key) {
            if (key == "whenUnsatisfiable") {
                binding = cursor.string() == "DoNotSchedule" || binding;
            } else {
                cursor.skip();
            }
        });
    });
    return binding;
}

void read_tolerations(JsonCursor& cursor, SpecParts& parts) {
    cursor.array([&] {
        if (auto toleration = read_toleration(cursor)) {
            parts.rules.tolerations.push_back(std::move(*toleration));
        } else {
            refuse(parts, "a toleration operator other than Equal and Exists");
        }
    });
}

void read_selector_labels(JsonCursor& cursor, SpecParts& parts) {
    auto& selector = parts.rules.node_selector;
    cursor.object([&](std::string_view key) {
        const std::string_view value = cursor.string();
        selector.emplace_back(key, value);
    });
    std::sort(selector.begin(), selector.end());
}

bool read_member(JsonCursor& cursor, std::string_view key, SpecParts& parts) {
    if (key == "nodeName") {
        parts.node = cursor.string();
    } else if (key == "schedulerName") {
        parts.scheduler_name = cursor.string();
    } else if (key == "priority") {
        parts.priority = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(cursor.integer(), INT32_MIN, INT32_MAX));
    } else if (key == "activeDeadlineSeconds") {
        constexpr std::int64_t seconds_max =
            10'000'000'000;  // beyond this it is unlimited in practice
        parts.run_time_max =
            Duration::seconds(std::clamp<std::int64_t>(cursor.integer(), 0, seconds_max));
    } else if (key == "preemptionPolicy") {
        parts.preempts = cursor.string() != "Never";
    } else if (key == "restartPolicy") {
        parts.runs_to_end = cursor.string() != "Always";
    } else if (key == "terminationGracePeriodSeconds") {
        parts.stop_grace_s = cursor.integer();
    } else if (key == "schedulingGates") {
        parts.gated = array_has_elements(cursor);
    } else if (key == "containers") {
        cursor.array(
            [&] { parts.containers.push_back(read_container(cursor, parts.unreadable_quantity)); });
    } else if (key == "initContainers") {
        cursor.array([&] {
            parts.init_containers.push_back(read_container(cursor, parts.unreadable_quantity));
        });
    } else if (key == "overhead") {
        parts.overhead = read_amounts(cursor, parts.unreadable_quantity);
    } else if (key == "resources") {
        parts.pod_level = read_requests(cursor, parts.unreadable_quantity);
    } else if (key == "nodeSelector") {
        read_selector_labels(cursor, parts);
    } else if (key == "affinity") {
        read_affinity(cursor, parts);
    } else if (key == "tolerations") {
        read_tolerations(cursor, parts);
    } else {
        return false;
    }
    return true;
}

template <typename List>
void sort_once(List& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

// Init containers that end release their resources before the main containers start.
void gather_ports(SpecParts& parts) {
    const auto add = [&parts](const ContainerParts& container) {
        parts.host_ports.insert(parts.host_ports.end(), container.host_ports.begin(),
                                container.host_ports.end());
    };
    for (const ContainerParts& container : parts.containers) add(container);
    for (const ContainerParts& init : parts.init_containers) {
        if (init.sidecar) add(init);
    }
    sort_once(parts.host_ports);
}

}  // namespace

SpecParts read_spec(JsonCursor& cursor) {
    SpecParts parts;
    cursor.object([&](std::string_view key) {
        if (read_member(cursor, key, parts)) return;
        if (key == "topologySpreadConstraints") {
            if (read_spread(cursor)) refuse(parts, "topology spread with DoNotSchedule");
        } else if (key == "volumes") {
            cursor.array([&] { read_volume(cursor, parts); });
        } else if (key == "resourceClaims") {
            if (array_has_elements(cursor)) refuse(parts, "resourceClaims");
        } else if (key == "schedulingGroup") {
            cursor.object([&](std::string_view group_key) {
                if (group_key == "podGroupName") {
                    parts.scheduling_group = cursor.string();
                } else {
                    cursor.skip();
                }
            });
        } else if (key == "workloadRef") {
            refuse(parts, "workloadRef, the gang form of Kubernetes 1.35");
            cursor.skip();
        } else {
            cursor.skip();
        }
    });
    gather_ports(parts);
    sort_once(parts.claims);
    if (parts.unreadable_quantity) refuse(parts, "a resource quantity out of range");
    std::sort(parts.unsupported.begin(), parts.unsupported.end());
    return parts;
}

}  // namespace gpuctl::k8s
