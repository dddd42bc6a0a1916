#include "k8s/client/session_channels.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "k8s/client/pod_container.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

using StatusJson = nlohmann::ordered_json;

constexpr char kInputChannel = 0;
constexpr char kOutputChannel = 1;
constexpr char kErrorChannel = 2;
constexpr char kOutcomeChannel = 3;
constexpr char kSizeChannel = 4;
constexpr char kEndChannel = '\xff';
constexpr std::size_t kPortBytes = 2;

std::string string_in(const StatusJson& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string()
               ? object[key].get<std::string>()
               : "";
}

std::optional<std::int32_t> exit_code_in(const StatusJson& status) {
    if (string_in(status, "reason") != "NonZeroExitCode" || !status.contains("details")) {
        return std::nullopt;
    }
    const StatusJson& details = status["details"];
    if (!details.is_object() || !details.contains("causes")) return std::nullopt;
    for (const StatusJson& cause : details["causes"]) {
        if (string_in(cause, "reason") != "ExitCode") continue;
        const std::string text = string_in(cause, "message");
        std::int32_t code = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
        if (error == std::errc{} && end == text.data() + text.size()) return code;
    }
    return std::nullopt;
}

ports::SessionOutput ended_with(std::optional<Error> failed) {
    ports::SessionOutput output;
    output.kind = ports::SessionOutput::Kind::ended;
    output.failed = std::move(failed);
    return output;
}

ports::SessionOutput bytes_of(ports::SessionOutput::Kind kind, std::string message) {
    message.erase(0, 1);
    ports::SessionOutput output;
    output.kind = kind;
    output.bytes = std::move(message);
    return output;
}

}  // namespace

std::optional<std::string> to_message(SessionProtocol protocol, const ports::SessionInput& input) {
    using Kind = ports::SessionInput::Kind;
    switch (input.kind) {
        case Kind::bytes:
            return std::string(1, kInputChannel) + input.bytes;
        case Kind::end:
            if (protocol != SessionProtocol::v5) return std::nullopt;
            return std::string{kEndChannel, kInputChannel};
        case Kind::terminal_size:
            if (protocol == SessionProtocol::port_forward) return std::nullopt;
            return std::string(1, kSizeChannel) + R"({"Width":)" + std::to_string(input.columns) +
                   R"(,"Height":)" + std::to_string(input.rows) + "}";
    }
    return std::nullopt;
}

ports::SessionOutput SessionMessages::outcome_of(std::string_view text) const {
    const StatusJson status = StatusJson::parse(text, nullptr, false);
    if (string_in(status, "status") == "Success") return ended_with(std::nullopt);
    if (const std::optional<std::int32_t> code = exit_code_in(status)) {
        ports::SessionOutput output = ended_with(std::nullopt);
        output.exit_code = *code;
        return output;
    }
    const std::string message = string_in(status, "message");
    const bool is_missing = string_in(status, "reason") == "NotFound";
    return ended_with(
        make_error(is_missing ? ErrorCode::NotFound : ErrorCode::BadRequest,
                   doing_ + ": the node refuses it: " +
                       (message.empty() ? std::string{text.substr(0, 200)} : message)));
}

Result<std::optional<ports::SessionOutput>> SessionMessages::read_port(std::string message) {
    const char channel = message[0];
    if (channel != 0 && channel != 1) {
        return make_error(ErrorCode::ProtocolError, doing_ + ": a message of an unknown channel");
    }
    std::size_t& opened = opened_[static_cast<std::size_t>(channel)];
    const std::size_t skipped = std::min(kPortBytes - opened, message.size() - 1);
    opened += skipped;
    message.erase(1, skipped);
    if (message.size() == 1) return std::optional<ports::SessionOutput>{};
    if (channel == 0) {
        return std::optional{bytes_of(ports::SessionOutput::Kind::bytes, std::move(message))};
    }
    return std::optional{ended_with(
        make_error(ErrorCode::Unreachable, doing_ + ": the node says: " + message.substr(1)))};
}

Result<std::optional<ports::SessionOutput>> SessionMessages::read(std::string message) {
    using Kind = ports::SessionOutput::Kind;
    if (message.empty()) {
        return make_error(ErrorCode::ProtocolError, doing_ + ": a message without a channel");
    }
    if (protocol_ == SessionProtocol::port_forward) return read_port(std::move(message));
    const char channel = message[0];
    if (channel == kOutcomeChannel && message.size() > 1) {
        return std::optional{outcome_of(std::string_view{message}.substr(1))};
    }
    const bool is_output = channel == kOutputChannel || channel == kErrorChannel;
    // A server opens each channel with an empty message, and v5 ends it with {255, channel}.
    if (channel == kEndChannel || message.size() == 1) {
        return std::optional<ports::SessionOutput>{};
    }
    if (!is_output) {
        return make_error(ErrorCode::ProtocolError, doing_ + ": a message of an unknown channel");
    }
    return std::optional{
        bytes_of(channel == kOutputChannel ? Kind::bytes : Kind::error_bytes, std::move(message))};
}

ports::SessionOutput SessionMessages::closed() const {
    if (protocol_ == SessionProtocol::port_forward) return ended_with(std::nullopt);
    return ended_with(make_error(
        ErrorCode::Unreachable,
        doing_ + ": the node ended the connection without an exit code; the pod may have stopped"));
}

std::string describe_session(const ports::SessionRequest& request) {
    const std::string pod = to_string(request.pod);
    switch (request.kind) {
        case ports::SessionKind::exec:
            return "exec in pod " + pod;
        case ports::SessionKind::attach:
            return "attach to pod " + pod;
        case ports::SessionKind::port_forward:
            return "forward port " + std::to_string(request.port) + " of pod " + pod;
    }
    return pod;
}

std::string session_path(const ports::SessionRequest& request) {
    const std::string pod = pod_path(request.pod);
    if (request.kind == ports::SessionKind::port_forward) {
        return pod + "/portforward?ports=" + std::to_string(request.port);
    }
    std::string path = pod + (request.kind == ports::SessionKind::exec ? "/exec" : "/attach");
    path += "?container=" + net::percent_encode(request.container) + "&stdout=true";
    if (request.has_input) path += "&stdin=true";
    path += request.has_terminal ? "&tty=true" : "&stderr=true";
    for (const std::string& word : request.command) path += "&command=" + net::percent_encode(word);
    return path;
}

std::string_view session_protocols(ports::SessionKind kind) {
    return kind == ports::SessionKind::port_forward ? "v4.channel.k8s.io"
                                                    : "v5.channel.k8s.io, v4.channel.k8s.io";
}

std::optional<SessionProtocol> protocol_of(ports::SessionKind kind, std::string_view chosen) {
    const bool is_port = kind == ports::SessionKind::port_forward;
    if (chosen == "v4.channel.k8s.io") {
        return is_port ? SessionProtocol::port_forward : SessionProtocol::v4;
    }
    if (chosen == "v5.channel.k8s.io" && !is_port) return SessionProtocol::v5;
    return std::nullopt;
}

}  // namespace gpuctl::k8s
