#include "k8s/discovery.hpp"

#include <algorithm>
#include <string>

#include "k8s/json_cursor.hpp"

namespace gpuctl::k8s {

std::vector<GangDialect> dialects_offered(std::string_view api_group_list) {
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

aio::Task<Result<std::vector<GangDialect>>> discover_gang_dialects(Client& client,
                                                                   aio::Deadline deadline) {
    auto groups = co_await client.get("/apis", deadline);
    if (!groups) {
        co_return while_doing("ask the API server for its groups", groups.error());
    }
    std::vector<GangDialect> found;
    for (const GangDialect& dialect : dialects_offered(groups->body)) {
        const bool group_done =
            std::any_of(found.begin(), found.end(),
                        [&](const GangDialect& other) { return other.group == dialect.group; });
        if (group_done) continue;
        auto resources = co_await client.get(
            "/apis/" + std::string(dialect.group) + "/" + std::string(dialect.version), deadline);
        if (!resources && resources.error().http_status != 404) {
            co_return while_doing("ask the API server for PodGroups", resources.error());
        }
        if (resources && serves(resources->body, dialect.resource)) found.push_back(dialect);
    }
    co_return found;
}

}  // namespace gpuctl::k8s
