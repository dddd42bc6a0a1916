// A pod's status: phase, waiting containers, the reason shown to users, and the resources that the
// kubelet reports.

#include <algorithm>
#include <limits>

#include "k8s/convert/convert_pod_parts.hpp"
#include "k8s/json/object_time.hpp"

namespace gpuctl::k8s {

namespace {

void read_container_state(JsonCursor& cursor, ContainerStatusParts& parts) {
    cursor.object([&](std::string_view state) {
        const bool waiting = state == "waiting";
        const bool running = state == "running";
        const bool terminated = state == "terminated";
        cursor.object([&](std::string_view key) {
            if (key == "reason" && waiting) {
                parts.waiting_reason = cursor.string();
            } else if (key == "reason" && terminated) {
                parts.terminated_reason = cursor.string();
            } else if (key == "startedAt" && (running || terminated)) {
                parts.running_since = parse_object_time(cursor.string());
            } else if (key == "finishedAt" && terminated) {
                parts.finished_at = parse_object_time(cursor.string());
            } else {
                cursor.skip();
            }
        });
    });
}

ContainerStatusParts read_container_status(JsonCursor& cursor) {
    ContainerStatusParts parts;
    bool unreadable = false;  // reported by the kubelet
    cursor.object([&](std::string_view key) {
        if (key == "name") {
            parts.name = cursor.string();
        } else if (key == "state") {
            read_container_state(cursor, parts);
        } else if (key == "restartCount") {
            parts.restarts =
                static_cast<std::int32_t>(std::clamp<std::int64_t>(cursor.integer(), 0, 1'000'000));
        } else if (key == "allocatedResources") {
            parts.allocated = read_amounts(cursor, unreadable);
        } else if (key == "resources") {
            parts.actuated.emplace();
            cursor.object([&](std::string_view kind) {
                if (kind == "requests") {
                    parts.actuated = read_amounts(cursor, unreadable);
                } else {
                    cursor.skip();
                }
            });
        } else {
            cursor.skip();
        }
    });
    return parts;
}

void read_condition(JsonCursor& cursor, StatusParts& parts) {
    std::string_view type;
    std::string_view status;
    std::string_view reason;
    std::string_view message;
    std::string_view since;
    cursor.object([&](std::string_view key) {
        if (key == "type") {
            type = cursor.string();
        } else if (key == "status") {
            status = cursor.string();
        } else if (key == "reason") {
            reason = cursor.string();
        } else if (key == "message") {
            message = cursor.string();
        } else if (key == "lastTransitionTime") {
            since = cursor.string();
        } else {
            cursor.skip();
        }
    });
    if (type == "PodScheduled" && status == "False") {
        parts.stored_unscheduled = true;
        parts.stored_reason = reason;
        parts.stored_message = message;
        parts.stored_since = parse_object_time(since);
    } else if (type == "PodResizePending" && status == "True" && reason == "Infeasible") {
        parts.resize_infeasible = true;
    }
}

bool contains(std::string_view text, std::string_view part) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [&](char a, char b) { return lower(a) == b; }) != text.end();
}

// Reasons that users know are used as they are; all others are mapped to a general reason.
std::string waiting_word(std::string_view reason) {
    for (const std::string_view known :
         {"ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "CreateContainerConfigError",
          "CreateContainerError", "ContainerCreating", "PodInitializing", "InvalidImageName",
          "ImageInspectError", "RegistryUnavailable", "RunContainerError", "RunInitContainerError",
          "ErrImageNeverPull", "PreCreateHookError", "PostStartHookError"}) {
        if (reason == known) return std::string(reason);
    }
    if (contains(reason, "backoff")) return "BackOff";
    if (contains(reason, "not found") || contains(reason, "notfound")) return "NotFound";
    if (contains(reason, "denied")) return "PermissionDenied";
    if (contains(reason, "storage")) return "StorageError";
    return std::string(reason);
}

bool ended_badly(const ContainerStatusParts& container) {
    return container.terminated_reason == "OOMKilled" || container.terminated_reason == "Error";
}

}  // namespace

StatusParts read_status(JsonCursor& cursor) {
    StatusParts parts;
    cursor.object([&](std::string_view key) {
        if (key == "phase") {
            parts.phase = cursor.string();
        } else if (key == "podIP") {
            parts.pod_ip = cursor.string();
        } else if (key == "startTime") {
            parts.start_time = parse_object_time(cursor.string());
        } else if (key == "containerStatuses") {
            cursor.array([&] { parts.containers.push_back(read_container_status(cursor)); });
        } else if (key == "initContainerStatuses") {
            cursor.array([&] { parts.init_containers.push_back(read_container_status(cursor)); });
        } else if (key == "conditions") {
            cursor.array([&] { read_condition(cursor, parts); });
        } else {
            cursor.skip();
        }
    });
    return parts;
}

std::string pod_status(const StatusParts& status, bool terminating) {
    if (terminating) return "Terminating";
    const std::string phase = status.phase.empty() ? "Pending" : std::string(status.phase);
    if (phase == "Succeeded") return phase;
    // A failing init container is the reason for everything after it.
    for (const ContainerStatusParts& container : status.init_containers) {
        const std::string_view reason = container.waiting_reason;
        if (!reason.empty() && reason != "PodInitializing") return waiting_word(reason);
        if (ended_badly(container)) return std::string(container.terminated_reason);
    }
    if (status.containers.empty()) return phase;
    const ContainerStatusParts& first = status.containers.front();
    if (!first.waiting_reason.empty()) return waiting_word(first.waiting_reason);
    if (ended_badly(first)) return std::string(first.terminated_reason);
    return phase;
}

namespace {

const ContainerStatusParts* status_of(
    const boost::container::small_vector<ContainerStatusParts, 2>& statuses,
    std::string_view name) {
    for (const ContainerStatusParts& status : statuses) {
        if (status.name == name) return &status;
    }
    return nullptr;
}

// While a resize is in progress the kubelet may hold more than the spec requests; a resize that it
// calls infeasible is never granted.
Amounts effective(const ContainerParts& container, const ContainerStatusParts* status,
                  bool infeasible) {
    if (status == nullptr || !status->actuated) return container.requests;
    Amounts amounts = *status->actuated;
    amounts.raise_to(status->allocated);
    if (!infeasible) amounts.raise_to(container.requests);
    return amounts;
}

}  // namespace

Resources pod_request(const SpecParts& spec, const StatusParts& status) {
    const bool bound = !spec.node.empty();
    Amounts total;
    for (const ContainerParts& container : spec.containers) {
        const auto* reported = bound ? status_of(status.containers, container.name) : nullptr;
        total.add(effective(container, reported, status.resize_infeasible));
    }
    // Init containers run one after another, each together with the sidecars started before it.
    Amounts sidecars;
    Amounts initial;
    for (const ContainerParts& container : spec.init_containers) {
        const auto* reported = bound ? status_of(status.init_containers, container.name) : nullptr;
        Amounts here = effective(container, reported, status.resize_infeasible);
        if (container.sidecar) {
            sidecars.add(here);
            initial.raise_to(sidecars);
        } else {
            here.add(sidecars);
            initial.raise_to(here);
        }
    }
    total.add(sidecars);
    total.raise_to(initial);
    for (const Amounts::Entry& entry : spec.pod_level) {
        if (entry.resource == "cpu" || entry.resource == "memory" ||
            entry.resource.starts_with("hugepages-")) {
            total.set(entry.resource, entry.value);
        }
    }
    total.add(spec.overhead);
    Resources request = to_resources(total, 0);
    request.pods = 1;
    request.host_ports = spec.host_ports;
    return request;
}

}  // namespace gpuctl::k8s
