#include "k8s/client/pod_session.hpp"

#include "k8s/client/pod_container.hpp"
#include "k8s/client/session_channels.hpp"

namespace gpuctl::k8s {

namespace {

class PodSession : public ports::SessionStream {
public:
    PodSession(std::unique_ptr<net::WebSocket> socket, SessionProtocol protocol, std::string doing)
        : socket_(std::move(socket)), protocol_(protocol), messages_(protocol, std::move(doing)) {}

    aio::Task<Result<void>> write(ports::SessionInput input, aio::Deadline deadline) override {
        std::optional<std::string> message = to_message(protocol_, input);
        if (!message) co_return Result<void>{};
        Result<void> written = co_await socket_->write_bytes(std::move(*message), deadline);
        co_return written;
    }

    aio::Task<Result<ports::SessionOutput>> read(aio::Deadline deadline) override {
        for (;;) {
            Result<std::optional<std::string>> message = co_await socket_->read_bytes(deadline);
            if (!message && message.error().code == ErrorCode::Timeout) co_return message.error();
            if (!message || !message->has_value()) co_return messages_.closed();
            Result<std::optional<ports::SessionOutput>> output =
                messages_.read(std::move(**message));
            if (!output) co_return output.error();
            if (output->has_value()) co_return std::move(**output);
        }
    }

    aio::Task<void> close(aio::Deadline deadline) override {
        std::string why;
        co_await socket_->close(net::CloseCode::normal, std::move(why), deadline);
    }

private:
    std::unique_ptr<net::WebSocket> socket_;
    SessionProtocol protocol_;
    SessionMessages messages_;
};

}  // namespace

aio::Task<Result<std::unique_ptr<ports::SessionStream>>> KubernetesSessions::open(
    ports::SessionRequest request, aio::Deadline deadline) {
    std::string doing = describe_session(request);
    std::string finding = "open a session with";
    Result<std::string> container = co_await find_container(
        client_, request.pod, request.uid, request.container, std::move(finding), deadline);
    if (!container) co_return container.error();
    request.container = std::move(*container);
    std::string path = session_path(request);
    std::string protocols{session_protocols(request.kind)};
    ApiResult<std::unique_ptr<net::WebSocket>> socket =
        co_await client_.open_websocket(std::move(path), std::move(protocols), deadline);
    if (!socket) co_return while_doing(doing, Error{socket.error()});
    const std::string chosen = (*socket)->protocol();
    const std::optional<SessionProtocol> protocol = protocol_of(request.kind, chosen);
    if (!protocol) {
        co_return make_error(ErrorCode::ProtocolError,
                             doing + ": the API server chose the protocol \"" + chosen +
                                 "\", which was not offered");
    }
    std::unique_ptr<ports::SessionStream> stream =
        std::make_unique<PodSession>(std::move(*socket), *protocol, std::move(doing));
    co_return std::move(stream);
}

}  // namespace gpuctl::k8s
