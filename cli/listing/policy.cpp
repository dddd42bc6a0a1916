// Quotas and namespaces as lists.

#include "aio/loop.hpp"
#include "cli/listing/kinds.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kNoLimit = "unlimited";

Json amounts_of(const Json& item, const char* member, const char* otherwise) {
    const Json of = item.value(member, Json::object());
    return {{"cpu", text_of(of, "cpu", otherwise)},
            {"memory", text_of(of, "memory", otherwise)},
            {kGpuOfQuota, text_of(of, "gpu", otherwise)}};
}

// "1/16": used, and the limit.
Cell used_and_hard(std::string key) {
    return [key = std::move(key)](const Json& item) {
        return text_of(item.value("used", Json::object()), key, "0") + "/" +
               text_of(item.value("hard", Json::object()), key, kNoLimit);
    };
}

Json labels_of_namespace(const Json& item) { return item.value("labels", Json::object()); }

}  // namespace

nlohmann::json quota_row(const nlohmann::json& item) {
    Json hard = amounts_of(item, "hard", kNoLimit);
    Json used = amounts_of(item, "used", "0");
    hard["pods"] = text_of(item.value("hard", Json::object()), "pods", kNoLimit);
    if (hard["pods"] != kNoLimit) {
        used["pods"] = text_of(item.value("used", Json::object()), "pods", "0");
    }
    return {{"name", text_of(item, "name")},
            {"namespace", text_of(item, "namespace")},
            {"description", text_of(item, "description")},
            {"source", text_of(item, "source")},
            {"hard", std::move(hard)},
            {"used", std::move(used)},
            {"status", text_of(item, "status")},
            {"note", text_of(item, "note")}};
}

nlohmann::json namespace_row(const nlohmann::json& item) {
    Json row{{"name", text_of(item, "name")},
             {"status", text_of(item, "status")},
             {"age", age_of("createdAt")(item)},
             {"source", text_of(item, "source")}};
    if (item.contains("labels")) row["labels"] = item["labels"];
    if (item.contains("quota")) {
        row["quota"] = item["quota"].is_null() ? Json{} : quota_row(item["quota"]);
    }
    return row;
}

std::string used_of_quota(const nlohmann::json& row, const char* resource) {
    return text_of(row["used"], resource, "0") + "/" + text_of(row["hard"], resource, kNoLimit);
}

ListedKind quotas_kind() {
    return {.name = "quotas",
            .columns = {{"QUOTA NAME", member("name")},
                        {"NAMESPACE", member("namespace")},
                        {"CPU", used_and_hard("cpu"), Use::always, ".used.cpu"},
                        {"MEMORY", used_and_hard("memory"), Use::always, ".used.memory"},
                        {"GPU", used_and_hard("gpu"), Use::always, ".used.gpu"},
                        {"STATUS", member("status")},
                        {"SOURCE", member("source"), Use::wide},
                        {"PODS", used_and_hard("pods"), Use::wide},
                        {"AGE", age_of("createdAt"), Use::wide, ".createdAt", true},
                        {"DESCRIPTION", member("description"), Use::wide},
                        {"NOTE", member("note"), Use::wide}},
            .short_form = quota_row,
            .is_named =
                [](const Json& item, const std::string& name) {
                    return text_of(item, "name") == name || text_of(item, "namespace") == name;
                },
            // Several namespaces may have quotas of one name.
            .key = [](const Json& item) { return text_of(item, "namespace"); }};
}

ListedKind namespaces_kind() {
    return {.name = "namespaces",
            .columns = {{"NAME", member("name")},
                        {"STATUS", member("status")},
                        {"AGE", age_of("createdAt"), Use::always, ".createdAt", true},
                        {"SOURCE", member("source"), Use::wide}},
            .short_form = namespace_row,
            .labels = labels_of_namespace};
}

}  // namespace gpuctl::cli
