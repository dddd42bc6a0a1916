#pragma once
// The messages of pods/exec, pods/attach and pods/portforward, without any socket. The first byte
// of a message is its channel (k8s.io/apimachinery/pkg/util/remotecommand, v4 and v5).

#include <optional>
#include <string>
#include <string_view>

#include "ports/sessions.hpp"

namespace gpuctl::k8s {

enum class SessionProtocol : std::uint8_t {
    v4,            // cannot say that the input has ended
    v5,            // a message {255, channel} ends a channel
    port_forward,  // {0} data and {1} error; the first message of each is the port's number
};

// The message for an input; nullopt: this protocol has none for it.
std::optional<std::string> to_message(SessionProtocol protocol, const ports::SessionInput& input);

// Reads messages in their order.
class SessionMessages {
public:
    // `doing` opens the message of a failure: "exec in pod a/b".
    SessionMessages(SessionProtocol protocol, std::string doing)
        : protocol_(protocol), doing_(std::move(doing)) {}

    // nullopt: the message means nothing to users. ProtocolError: it breaks the protocol.
    Result<std::optional<ports::SessionOutput>> read(std::string message);
    // What it means that the server has closed the connection now.
    [[nodiscard]] ports::SessionOutput closed() const;

private:
    Result<std::optional<ports::SessionOutput>> read_port(std::string message);
    [[nodiscard]] ports::SessionOutput outcome_of(std::string_view status) const;

    SessionProtocol protocol_;
    std::string doing_;
    std::size_t opened_[2] = {0, 0};  // bytes of a port's number that came
};

// The path and the protocols that a session is requested with; the container is set.
std::string session_path(const ports::SessionRequest& request);
std::string_view session_protocols(ports::SessionKind kind);
// nullopt: not one of those requested.
std::optional<SessionProtocol> protocol_of(ports::SessionKind kind, std::string_view chosen);
// "exec in pod team-a/train-0"
std::string describe_session(const ports::SessionRequest& request);

}  // namespace gpuctl::k8s
