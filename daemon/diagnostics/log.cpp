#include "daemon/diagnostics/log.hpp"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

namespace gpuctl::log {
namespace {

using Json = nlohmann::ordered_json;

bool lines_are_json = false;  // set once, before the first line

std::string dump(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Puts time and level before the fields, which are an object in the payload already.
class JsonLines final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        const std::chrono::duration<double, std::milli> since = message.time.time_since_epoch();
        const auto level = spdlog::level::to_string_view(message.level);
        Json head;
        head["ts"] = since.count();
        head["level"] = std::string{level.data(), level.size()};
        std::string line = dump(head);
        line.back() = ',';
        line.append(message.payload.data() + 1, message.payload.size() - 1);
        line += '\n';
        out.append(line.data(), line.data() + line.size());
    }
    [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<JsonLines>();
    }
};

std::string quoted_if_needed(const std::string& text) {
    const bool plain = !text.empty() && text.find_first_of(" =\"\n\t") == text.npos;
    return plain ? text : dump(text);
}

struct AsText {
    std::string operator()(const std::string& text) const { return quoted_if_needed(text); }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(bool yes) const { return yes ? "true" : "false"; }
    std::string operator()(const ObjectKey& object) const { return to_string(object); }
};

struct AsJson {
    Json operator()(const std::string& text) const { return text; }
    Json operator()(std::int64_t number) const { return number; }
    Json operator()(bool yes) const { return yes; }
    Json operator()(const ObjectKey& object) const {
        return {{"name", shown_name(object)}, {"namespace", object.namespace_name}};
    }
};

std::string caller(const Where& where) {
    const std::string_view path{where.file_name()};
    const std::size_t slash = path.rfind('/');
    return std::string{path.substr(slash == path.npos ? 0 : slash + 1)} + ":" +
           std::to_string(where.line());
}

void write(spdlog::level::level_enum level, std::string_view message, Fields fields,
           const Where& where) {
    if (!spdlog::should_log(level)) return;
    const std::string payload =
        lines_are_json ? render_json(message, fields, where) : render_text(message, fields);
    spdlog::log(level, spdlog::string_view_t{payload.data(), payload.size()});
}

}  // namespace

std::string render_text(std::string_view message, Fields fields) {
    std::string text{message};
    for (const Field& field : fields) {
        text += ' ';
        text += field.name;
        text += '=';
        text += std::visit(AsText{}, field.value);
    }
    return text;
}

std::string render_json(std::string_view message, Fields fields, const Where& where) {
    Json line;
    line["v"] = 0;
    line["logger"] = "gpuctld";
    line["caller"] = caller(where);
    line["msg"] = message;
    for (const Field& field : fields) {
        line[std::string{field.name}] = std::visit(AsJson{}, field.value);
    }
    return dump(line);
}

void set_up(const std::string& format, const std::string& level) {
    auto logger = std::make_shared<spdlog::logger>(
        "gpuctld", std::make_shared<spdlog::sinks::stdout_sink_mt>());
    lines_are_json = format == "json";
    if (lines_are_json) {
        logger->set_formatter(std::make_unique<JsonLines>());
    } else {
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    }
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
    set_level(level);
}

void set_level(const std::string& level) {
    spdlog::set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
}

void info(std::string_view message, Fields fields, Where where) {
    write(spdlog::level::info, message, fields, where);
}
void warn(std::string_view message, Fields fields, Where where) {
    write(spdlog::level::warn, message, fields, where);
}
void error(std::string_view message, Fields fields, Where where) {
    write(spdlog::level::err, message, fields, where);
}

}  // namespace gpuctl::log
