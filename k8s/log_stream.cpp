#include "k8s/log_stream.hpp"

#include "daemon/net/http_types.hpp"
#include "k8s/json_text.hpp"

namespace gpuctl::k8s {

namespace {

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

}  // namespace

std::string log_path(const ports::LogRequest& request) {
    std::string path = pod_path(request.pod) + "/log?timestamps=true";
    if (request.follow) path += "&follow=true";
    if (!request.container.empty()) {
        path += "&container=" + net::percent_encode(request.container);
    }
    if (request.tail_lines) path += "&tailLines=" + std::to_string(*request.tail_lines);
    if (!request.since_time.empty())
        path += "&sinceTime=" + net::percent_encode(request.since_time);
    return path;
}

aio::Task<Result<std::unique_ptr<ports::LogStream>>> KubernetesLogs::open(ports::LogRequest request,
                                                                          aio::Deadline deadline) {
    // The log endpoint knows names only. Ask first whose name it is now, so that nobody reads the
    // log of a successor for that of the pod they meant.
    if (!request.uid.empty()) {
        ApiResult<ApiResponse> pod = co_await client_.get(pod_path(request.pod), deadline);
        if (!pod) co_return Error{pod.error()};
        const auto identity = identity_of(pod->body);
        if (!identity || identity->uid != request.uid) {
            co_return make_error(ErrorCode::NotFound,
                                 "read the log of pod " + to_string(request.pod) +
                                     ": this incarnation is gone, another pod has its name now");
        }
    }
    ApiResult<std::unique_ptr<Client::Stream>> stream =
        co_await client_.open_stream(log_path(request), deadline);
    if (!stream) co_return Error{stream.error()};
    co_return std::make_unique<PodLog>(std::move(*stream));
}

}  // namespace gpuctl::k8s
