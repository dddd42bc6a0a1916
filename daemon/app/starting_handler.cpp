#include "daemon/app/starting_handler.hpp"

#include "daemon/api/http/reply.hpp"
#include "daemon/diagnostics/log.hpp"

namespace gpuctl::app {

net::HttpResponse StartingHandler::answer(const net::HttpRequest& request) const {
    const std::string_view target = request.target;
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/livez") return api::text_reply(200, "ok");
    if (path == "/readyz") {
        return api::text_reply(500,
                               "[-]starting failed: " + waiting_for_ + "\nreadyz check failed\n");
    }
    return api::problem_reply(make_error(ErrorCode::ClusterUnavailable, waiting_for_), path, "");
}

net::HeaderVerdict StartingHandler::on_header(const net::HttpRequest& request) {
    if (next_ != nullptr) return next_->on_header(request);
    return {answer(request), 0};
}

aio::Task<net::HttpResponse> StartingHandler::on_request(net::HttpRequest request) {
    if (next_ == nullptr) co_return answer(request);
    net::HttpResponse response = co_await next_->on_request(std::move(request));
    co_return response;
}

aio::Task<std::optional<net::HttpResponse>> StartingHandler::on_upgrade(net::HttpRequest request) {
    if (next_ == nullptr) co_return answer(request);
    std::optional<net::HttpResponse> response = co_await next_->on_upgrade(std::move(request));
    co_return response;
}

aio::Task<void> StartingHandler::on_websocket(net::HttpRequest request,
                                              std::unique_ptr<net::WebSocket> socket) {
    if (next_ != nullptr) co_await next_->on_websocket(std::move(request), std::move(socket));
}

net::HttpResponse StartingHandler::problem(int status, std::string code, std::string message) {
    if (next_ != nullptr) return next_->problem(status, std::move(code), std::move(message));
    net::HttpResponse response =
        api::problem_reply(make_error(ErrorCode::BadRequest, std::move(message)), "", "");
    api::set_status(response, status);
    return response;
}

void StartingHandler::on_failure(const std::string& what) {
    log::error("request handler failed", {{"err", what}});
}

}  // namespace gpuctl::app
