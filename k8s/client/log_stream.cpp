#include "k8s/client/log_stream.hpp"

#include "k8s/client/pod_container.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

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
    if (request.previous) path += "&previous=true";
    if (request.tail_lines) path += "&tailLines=" + std::to_string(*request.tail_lines);
    if (!request.since_time.empty())
        path += "&sinceTime=" + net::percent_encode(request.since_time);
    return path;
}

aio::Task<Result<std::unique_ptr<ports::LogStream>>> KubernetesLogs::open(ports::LogRequest request,
                                                                          aio::Deadline deadline) {
    std::string doing = "read the log of";
    Result<std::string> container = co_await find_container(
        client_, request.pod, request.uid, request.container, std::move(doing), deadline);
    if (!container) co_return container.error();
    request.container = std::move(*container);
    ApiResult<std::unique_ptr<Client::Stream>> stream =
        co_await client_.open_stream(log_path(request), deadline);
    if (!stream) co_return Error{stream.error()};
    co_return std::make_unique<PodLog>(std::move(*stream));
}

}  // namespace gpuctl::k8s
