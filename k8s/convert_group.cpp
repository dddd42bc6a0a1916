#include "k8s/convert_group.hpp"

#include <algorithm>
#include <array>

#include "k8s/json_cursor.hpp"

namespace gpuctl::k8s {

namespace {

constexpr auto kDialects = std::to_array<GangDialect>({
    {"scheduling.x-k8s.io", "v1alpha1", "podgroups", GangField::min_member},
    {"scheduling.volcano.sh", "v1beta1", "podgroups", GangField::min_member},
    {"scheduling.run.ai", "v2alpha2", "podgroups", GangField::min_member},
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
            cursor.object([&](std::string_view member) {
                if (field == GangField::min_member && member == "minMember") {
                    gang.ranks_min = bounded(cursor.integer());
                } else if (field == GangField::gang_policy && member == "schedulingPolicy") {
                    gang.ranks_min = read_gang_policy(cursor);
                } else {
                    cursor.skip();
                }
            });
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
