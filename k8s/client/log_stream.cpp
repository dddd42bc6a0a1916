#include "k8s/client/log_stream.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kDefaultContainer = "kubectl.kubernetes.io/default-container";

std::string pod_path(const ObjectKey& key) {
    return "/api/v1/namespaces/" + net::percent_encode(key.namespace_name) + "/pods/" +
           net::percent_encode(key.name);
}

class PodLog : public ports::LogStream {
public:
    explicit PodLog(std::unique_ptr<Client::Stream> stream) : stream_(std::move(stream)) {}
    aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) override {
        Result<bool> more = co_await stream_->read_some(out, deadline);
        co_return more;
    }

private:
    std::unique_ptr<Client::Stream> stream_;
};

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

// The API server requires a container name for a pod with several. As kubectl: the pod's
// default-container annotation, else its first container.
Result<std::string> choose_container(const Json& pod, const ports::LogRequest& request) {
    const std::vector<std::string> names = containers_of(pod);
    const auto is_there = [&names](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!request.container.empty()) {
        if (is_there(request.container)) return request.container;
        std::string message = "read the log of pod " + to_string(request.pod) +
                              ": it has no container " + request.container + ", only";
        for (const std::string& name : names) message += " " + name;
        return make_error(ErrorCode::NotFound, std::move(message));
    }
    const Json annotations = member(member(pod, "metadata"), "annotations");
    if (std::string meant = text(annotations, kDefaultContainer); is_there(meant)) return meant;
    return names.empty() ? "" : names.front();
}

}  // namespace

std::string log_path(const ports::LogRequest& request) {
    std::string path = pod_path(request.pod) + "/log?timestamps=true";
    if (request.follow) path += "&follow=true";
    if (!request.container.empty()) {
        path += "&container=" + net::percent_encode(request.container);
    }
    if (request.previous) path += "&previous=true";
    if (request.tail_lines) path += "&tailLines=" + std::to_string(*request.tail_lines);
    if (!request.since_time.empty())
        path += "&sinceTime=" + net::percent_encode(request.since_time);
    return path;
}

aio::Task<Result<std::unique_ptr<ports::LogStream>>> KubernetesLogs::open(ports::LogRequest request,
                                                                          aio::Deadline deadline) {
    // The log endpoint knows names only. Check first which incarnation has the name now, so that a
    // reader does not get the log of a successor.
    ApiResult<ApiResponse> answer = co_await client_.get(pod_path(request.pod), deadline);
    if (!answer) co_return Error{answer.error()};
    const Json pod = Json::parse(answer->body, nullptr, false);
    if (!request.uid.empty() && text(member(pod, "metadata"), "uid") != request.uid) {
        co_return make_error(ErrorCode::NotFound,
                             "read the log of pod " + to_string(request.pod) +
                                 ": this incarnation is gone, another pod has its name now");
    }
    Result<std::string> container = choose_container(pod, request);
    if (!container) co_return container.error();
    request.container = std::move(*container);
    ApiResult<std::unique_ptr<Client::Stream>> stream =
        co_await client_.open_stream(log_path(request), deadline);
    if (!stream) co_return Error{stream.error()};
    co_return std::make_unique<PodLog>(std::move(*stream));
}

}  // namespace gpuctl::k8s
