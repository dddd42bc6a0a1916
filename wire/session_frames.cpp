#include "wire/session_frames.hpp"

#include <nlohmann/json.hpp>

#include "wire/problem.hpp"

namespace gpuctl::wire {

namespace {

std::optional<std::int64_t> whole_member(const nlohmann::json& object, const char* key,
                                         std::int64_t most) {
    if (!object.is_object() || !object.contains(key)) return std::nullopt;
    const nlohmann::json& value = object[key];
    if (!value.is_number_integer()) return std::nullopt;
    const auto number = value.get<std::int64_t>();
    if (number < 0 || number > most) return std::nullopt;
    return number;
}

}  // namespace

std::string session_frame(SessionChannel channel, std::string_view bytes) {
    std::string message(1, static_cast<char>(channel));
    message += bytes;
    return message;
}

std::optional<SessionFrame> read_session_frame(std::string_view message) {
    if (message.empty()) return std::nullopt;
    const auto number = static_cast<std::uint8_t>(message[0]);
    if (number > static_cast<std::uint8_t>(SessionChannel::end_of_input)) return std::nullopt;
    return SessionFrame{static_cast<SessionChannel>(number), message.substr(1)};
}

std::string terminal_size_json(TerminalSize size) {
    return R"({"columns":)" + std::to_string(size.columns) + R"(,"rows":)" +
           std::to_string(size.rows) + "}";
}

std::optional<TerminalSize> read_terminal_size(std::string_view text) {
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    const auto columns = whole_member(object, "columns", UINT16_MAX);
    const auto rows = whole_member(object, "rows", UINT16_MAX);
    if (!columns || !rows) return std::nullopt;
    return TerminalSize{static_cast<std::uint16_t>(*columns), static_cast<std::uint16_t>(*rows)};
}

std::string session_outcome_json(std::int32_t exit_code) {
    return R"({"exitCode":)" + std::to_string(exit_code) + "}";
}

std::string session_outcome_json(const Error& failed) { return problem_json(failed, "", ""); }

Result<std::int32_t> read_session_outcome(std::string_view text) {
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (const auto code = whole_member(object, "exitCode", INT32_MAX)) {
        return static_cast<std::int32_t>(*code);
    }
    const auto status = whole_member(object, "status", 599);
    return error_from_response(static_cast<int>(status.value_or(500)), kProblemType, text);
}

}  // namespace gpuctl::wire
