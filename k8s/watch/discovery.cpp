#include "k8s/watch/discovery.hpp"

#include <algorithm>
#include <string>

#include "k8s/json/json_cursor.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::string_view kPolicyGroupVersion = "runwhere.ai/v1";
constexpr std::string_view kDeviceGroup = "resource.k8s.io/v1";
constexpr std::string_view kDeviceClasses = "deviceclasses";

// "apps/v1" and so on, as an APIGroupList names them.
std::vector<std::string_view> group_versions_in(std::string_view api_group_list) {
    std::vector<std::string_view> group_versions;
    JsonCursor cursor{api_group_list};
    cursor.object([&](std::string_view key) {
        if (key != "groups") return cursor.skip();
        cursor.array([&] {
            cursor.object([&](std::string_view group_key) {
                if (group_key != "versions") return cursor.skip();
                cursor.array([&] {
                    cursor.object([&](std::string_view version_key) {
                        if (version_key == "groupVersion") {
                            group_versions.push_back(cursor.string());
                        } else {
                            cursor.skip();
                        }
                    });
                });
            });
        });
    });
    return group_versions;
}

}  // namespace

std::vector<GangDialect> dialects_offered(std::string_view api_group_list) {
    const std::vector<std::string_view> group_versions = group_versions_in(api_group_list);
    std::vector<GangDialect> offered;
    for (const GangDialect& dialect : gang_dialects()) {
        const std::string wanted = std::string(dialect.group) + "/" + std::string(dialect.version);
        if (std::find(group_versions.begin(), group_versions.end(), wanted) !=
            group_versions.end()) {
            offered.push_back(dialect);
        }
    }
    return offered;
}

bool serves(std::string_view api_resource_list, std::string_view resource) {
    bool found = false;
    JsonCursor cursor{api_resource_list};
    cursor.object([&](std::string_view key) {
        if (key != "resources") return cursor.skip();
        cursor.array([&] {
            std::string_view name;
            bool watch = false;
            cursor.object([&](std::string_view member) {
                if (member == "name") {
                    name = cursor.string();
                } else if (member == "verbs") {
                    cursor.array([&] { watch = cursor.string() == "watch" || watch; });
                } else {
                    cursor.skip();
                }
            });
            found = found || (name == resource && watch);
        });
    });
    return found;
}

namespace {

// Whether this group and version has the resource, with list and watch.
aio::Task<Result<bool>> has_resource(Client& client, std::string group_version,
                                     std::string resource, aio::Deadline deadline) {
    auto resources = co_await client.get("/apis/" + group_version, deadline);
    if (!resources && resources.error().http_status == 404) co_return false;
    if (!resources) {
        co_return while_doing("read from the API server: " + resource, resources.error());
    }
    co_return serves(resources->body, resource);
}

}  // namespace

aio::Task<Result<OptionalKinds>> discover_optional_kinds(Client& client, aio::Deadline deadline) {
    auto groups = co_await client.get("/apis", deadline);
    if (!groups) {
        co_return while_doing("read the API server's groups", groups.error());
    }
    OptionalKinds found;
    for (const GangDialect& dialect : dialects_offered(groups->body)) {
        const bool group_done =
            std::any_of(found.gangs.begin(), found.gangs.end(),
                        [&](const GangDialect& other) { return other.group == dialect.group; });
        if (group_done) continue;
        std::string version = std::string(dialect.group) + "/" + std::string(dialect.version);
        const Result<bool> has = co_await has_resource(client, std::move(version),
                                                       std::string(dialect.resource), deadline);
        if (!has) co_return has.error();
        if (*has) found.gangs.push_back(dialect);
    }
    const std::vector<std::string_view> versions = group_versions_in(groups->body);
    if (std::find(versions.begin(), versions.end(), kPolicyGroupVersion) != versions.end()) {
        auto own = co_await client.get("/apis/" + std::string(kPolicyGroupVersion), deadline);
        if (!own && own.error().http_status != 404) {
            co_return while_doing("read from the API server: computepools", own.error());
        }
        found.policy = own && serves(own->body, "computepools") && serves(own->body, "queues");
    }
    if (std::find(versions.begin(), versions.end(), kDeviceGroup) == versions.end()) {
        co_return found;
    }
    const Result<bool> has = co_await has_resource(client, std::string(kDeviceGroup),
                                                   std::string(kDeviceClasses), deadline);
    if (!has) co_return has.error();
    if (*has) {
        found.device_classes =
            "/apis/" + std::string(kDeviceGroup) + "/" + std::string(kDeviceClasses);
    }
    co_return found;
}

}  // namespace gpuctl::k8s
