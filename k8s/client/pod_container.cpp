#include "k8s/client/pod_container.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kDefaultContainer = "kubectl.kubernetes.io/default-container";

Json member(const Json& object, const char* key) {
    return object.is_object() && object.contains(key) ? object.at(key) : Json{};
}

std::string text(const Json& object, const char* key) {
    const Json value = member(object, key);
    return value.is_string() ? value.get<std::string>() : "";
}

// In the order in which kubectl offers them.
std::vector<std::string> containers_of(const Json& pod) {
    std::vector<std::string> names;
    const Json spec = member(pod, "spec");
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
        for (const Json& container : member(spec, list)) names.push_back(text(container, "name"));
    }
    return names;
}

// The API server requires a container name for a pod with several.
Result<std::string> choose_container(const Json& pod, const std::string& wanted,
                                     const std::string& doing) {
    const std::vector<std::string> names = containers_of(pod);
    const auto is_there = [&names](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!wanted.empty()) {
        if (is_there(wanted)) return wanted;
        std::string message = doing + ": it has no container " + wanted + ", only";
        for (const std::string& name : names) message += " " + name;
        return make_error(ErrorCode::NotFound, std::move(message));
    }
    const Json annotations = member(member(pod, "metadata"), "annotations");
    if (std::string meant = text(annotations, kDefaultContainer); is_there(meant)) return meant;
    return names.empty() ? "" : names.front();
}

}  // namespace

std::string pod_path(const ObjectKey& key) {
    return "/api/v1/namespaces/" + net::percent_encode(key.namespace_name) + "/pods/" +
           net::percent_encode(key.name);
}

aio::Task<Result<std::string>> find_container(Client& client, ObjectKey pod, std::string uid,
                                              std::string wanted, std::string doing,
                                              aio::Deadline deadline) {
    doing += " pod " + to_string(pod);
    ApiResult<ApiResponse> answer = co_await client.get(pod_path(pod), deadline);
    if (!answer) co_return Error{answer.error()};
    const Json found = Json::parse(answer->body, nullptr, false);
    if (!uid.empty() && text(member(found, "metadata"), "uid") != uid) {
        co_return make_error(ErrorCode::NotFound,
                             doing + ": this incarnation is gone, another pod has its name now");
    }
    Result<std::string> container = choose_container(found, wanted, doing);
    co_return container;
}

}  // namespace gpuctl::k8s
