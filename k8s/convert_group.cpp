#include "k8s/convert_group.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "k8s/json_cursor.hpp"

namespace gpuctl::k8s {

namespace {

constexpr auto kDialects = std::to_array<GangDialect>({
    {"scheduling.x-k8s.io", "v1alpha1", "podgroups", GangField::min_member},
    {"scheduling.volcano.sh", "v1beta1", "podgroups", GangField::task_member},
    {"scheduling.run.ai", "v2alpha2", "podgroups", GangField::sub_groups},
    {"scheduling.k8s.io", "v1alpha3", "podgroups", GangField::gang_policy},
    {"scheduling.k8s.io", "v1alpha2", "podgroups", GangField::gang_policy},
});

std::int32_t bounded(std::int64_t count) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(count, 0, 1'000'000));
}

// spec.schedulingPolicy.gang.minCount
std::int32_t read_gang_policy(JsonCursor& cursor) {
    std::int32_t count = 0;
    cursor.object([&](std::string_view policy) {
        if (policy != "gang") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "minCount") {
                count = bounded(cursor.integer());
            } else {
                cursor.skip();
            }
        });
    });
    return count;
}

// Volcano's spec.minTaskMember: {"worker": 4}
void read_task_members(JsonCursor& cursor, GangSize& size) {
    cursor.object([&](std::string_view role) {
        const std::int32_t ranks = bounded(cursor.integer());
        if (ranks > 0) size.add({std::string{role}, ranks});
    });
}

// KAI's spec.subGroups: [{"name": "worker", "minMember": 4, "parent": "..."}]; pods are in leaves.
void read_sub_groups(JsonCursor& cursor, GangSize& size) {
    std::vector<std::string> parents;
    cursor.array([&] {
        RoleMinimum minimum;
        cursor.object([&](std::string_view key) {
            if (key == "name") {
                minimum.role = cursor.string();
            } else if (key == "minMember") {
                minimum.ranks = bounded(cursor.integer());
            } else if (key == "parent") {
                parents.emplace_back(cursor.string());
            } else {
                cursor.skip();
            }
        });
        if (minimum.ranks > 0) size.add(minimum);
    });
    std::erase_if(size.roles, [&](const RoleMinimum& one) {
        return std::find(parents.begin(), parents.end(), one.role) != parents.end();
    });
}

void read_size(JsonCursor& cursor, GangField field, GangSize& size) {
    cursor.object([&](std::string_view member) {
        if (field == GangField::gang_policy) {
            if (member != "schedulingPolicy") return cursor.skip();
            size.ranks = read_gang_policy(cursor);
        } else if (member == "minMember") {
            size.ranks = bounded(cursor.integer());
        } else if (field == GangField::task_member && member == "minTaskMember") {
            read_task_members(cursor, size);
        } else if (field == GangField::sub_groups && member == "subGroups") {
            read_sub_groups(cursor, size);
        } else {
            cursor.skip();
        }
    });
    GangSize raised = size;
    raised.raise_to_roles();
    // Volcano fills in minima of tasks by itself, and heeds them only within that of the group.
    const bool are_heeded = field != GangField::task_member || raised.ranks == size.ranks;
    if (are_heeded) {
        size = std::move(raised);
    } else {
        size.roles.clear();
    }
}

}  // namespace

std::span<const GangDialect> gang_dialects() { return kDialects; }

Result<GangReading> read_gang(std::string_view json, GangField field) {
    JsonCursor cursor{json};
    GangReading gang;
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            cursor.object([&](std::string_view member) {
                if (member == "name") {
                    gang.key.name = cursor.string();
                } else if (member == "namespace") {
                    gang.key.namespace_name = cursor.string();
                } else {
                    cursor.skip();
                }
            });
        } else if (key == "spec") {
            read_size(cursor, field, gang.size);
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || gang.key.name.empty()) {
        return make_error(ErrorCode::InvalidJson,
                          "a PodGroup from the API server cannot be read: it is cut, malformed, or "
                          "has no name");
    }
    return gang;
}

}  // namespace gpuctl::k8s
