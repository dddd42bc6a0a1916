#include "k8s/convert/convert_volume.hpp"

#include <array>
#include <utility>

#include "k8s/convert/convert_pod_parts.hpp"
#include "k8s/json/json_cursor.hpp"
#include "k8s/json/object_key.hpp"

namespace gpuctl::k8s {

namespace {

// Written when the binding is complete on both sides: a volume name alone is only a request.
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";

// Zones of a volume as labels, from before volumes had a node affinity: "a__b" is either of two.
// The label names from before 1.17 are read as today's, which every node has since.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kZoneLabels{{
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
}};

std::vector<std::string> split_zones(std::string_view text) {
    constexpr std::string_view between = "__";
    std::vector<std::string> zones;
    for (;;) {
        const std::size_t end = text.find(between);
        zones.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return zones;
        text.remove_prefix(end + between.size());
    }
}

// A node without that label accepts the volume, as in kube-scheduler's VolumeZone plugin.
void add_zones(const SelectorTerm& zones, Reach& reach) {
    if (zones.labels.empty()) return;
    SelectorTerm nowhere;
    for (std::size_t i = 0; i < 2; ++i) {
        nowhere.labels.push_back(
            {std::string{kZoneLabels[i].second}, SelectorOperator::does_not_exist, {}});
    }
    reach.push_back({zones, std::move(nowhere)});
}

void read_zone(std::string_view label, std::string_view value, SelectorTerm& zones) {
    for (const auto& [known, now] : kZoneLabels) {
        if (label != known) continue;
        zones.labels.push_back({std::string{now}, SelectorOperator::in, split_zones(value)});
    }
}

}  // namespace

Result<ClaimReading> read_claim(std::string_view json) {
    JsonCursor cursor{json};
    ClaimReading claim;
    std::string volume;
    bool is_complete = false;
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            cursor.object([&](std::string_view member) {
                if (member == "name") {
                    claim.key.name = cursor.string();
                } else if (member == "namespace") {
                    claim.key.namespace_name = cursor.string();
                } else if (member == "deletionTimestamp") {
                    claim.is_terminating = !cursor.string().empty();
                } else if (member == "annotations") {
                    cursor.object([&](std::string_view annotation) {
                        is_complete = annotation == kBindCompleted || is_complete;
                        cursor.skip();
                    });
                } else {
                    cursor.skip();
                }
            });
        } else if (key == "spec") {
            cursor.object([&](std::string_view member) {
                if (member == "volumeName") {
                    volume = cursor.string();
                } else if (member == "accessModes") {
                    cursor.array([&] {
                        if (cursor.string() == "ReadWriteOncePod") claim.is_for_one_pod = true;
                    });
                } else {
                    cursor.skip();
                }
            });
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || claim.key.name.empty()) return unreadable_object("a PersistentVolumeClaim");
    if (is_complete) claim.volume = std::move(volume);
    return claim;
}

Result<VolumeReading> read_volume_object(std::string_view json) {
    JsonCursor cursor{json};
    VolumeReading volume;
    SelectorTerm zones;
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            cursor.object([&](std::string_view member) {
                if (member == "name") {
                    volume.name = cursor.string();
                } else if (member == "labels") {
                    cursor.object(
                        [&](std::string_view label) { read_zone(label, cursor.string(), zones); });
                } else {
                    cursor.skip();
                }
            });
        } else if (key == "spec") {
            cursor.object([&](std::string_view member) {
                if (member == "claimRef") {
                    read_object_key(cursor, volume.claim);
                } else if (member == "nodeAffinity") {
                    cursor.object([&](std::string_view kind) {
                        if (kind == "required") {
                            volume.reach.push_back(read_node_selector(cursor));
                        } else {
                            cursor.skip();
                        }
                    });
                } else {
                    cursor.skip();
                }
            });
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || volume.name.empty()) return unreadable_object("a PersistentVolume");
    add_zones(zones, volume.reach);
    return volume;
}

Result<DeviceClassReading> read_device_class(std::string_view json) {
    JsonCursor cursor{json};
    DeviceClassReading reading;
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            ObjectKey named;
            read_object_key(cursor, named);
            reading.name = std::move(named.name);
        } else if (key == "spec") {
            cursor.object([&](std::string_view member) {
                if (member == "extendedResourceName") {
                    reading.resource = cursor.string();
                } else {
                    cursor.skip();
                }
            });
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || reading.name.empty()) return unreadable_object("a DeviceClass");
    return reading;
}

}  // namespace gpuctl::k8s
