// A pod's spec: what its containers ask for, where it may go, and what of it is not built yet.

#include <algorithm>
#include <cstdint>

#include "k8s/convert_pod_parts.hpp"

namespace gpuctl::k8s {

namespace {

void refuse(SpecParts& parts, std::string feature) {
    auto& list = parts.unsupported;
    if (std::find(list.begin(), list.end(), feature) == list.end()) {
        list.push_back(std::move(feature));
    }
}

bool has_host_port(JsonCursor& cursor) {
    bool found = false;
    cursor.array([&] {
        cursor.object([&](std::string_view key) {
            if (key == "hostPort") {
                found = cursor.integer() > 0 || found;
            } else {
                cursor.skip();
            }
        });
    });
    return found;
}

Amounts read_requests(JsonCursor& cursor, bool& unreadable) {
    Amounts requests;
    cursor.object([&](std::string_view key) {
        if (key == "requests") {  // the API server copied limits there already
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
            container.host_port = has_host_port(cursor);
        } else if (key == "restartPolicy") {
            container.sidecar = cursor.string() == "Always";
        } else {
            cursor.skip();
        }
    });
    return container;
}

// Volumes that are on every node, or bring themselves there.
bool is_placement_free(std::string_view source) {
    for (const std::string_view kind : {"emptyDir", "configMap", "secret", "projected", "hostPath",
                                        "downwardAPI", "nfs", "image", "gitRepo"}) {
        if (source == kind) return true;
    }
    return false;
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
            refuse(parts, "persistentVolumeClaim " + std::string(claim));
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
        constexpr std::int64_t seconds_max = 10'000'000'000;  // beyond, it is as good as none
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
    const auto holds_port = [](const ContainerParts& container) { return container.host_port; };
    const bool sidecar_port =
        std::any_of(parts.init_containers.begin(), parts.init_containers.end(),
                    [](const ContainerParts& init) { return init.sidecar && init.host_port; });
    if (sidecar_port || std::any_of(parts.containers.begin(), parts.containers.end(), holds_port)) {
        refuse(parts, "host ports");
    }
    if (parts.unreadable_quantity) refuse(parts, "a resource quantity out of range");
    std::sort(parts.unsupported.begin(), parts.unsupported.end());
    return parts;
}

}  // namespace gpuctl::k8s
