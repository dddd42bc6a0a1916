#include "daemon/app/logging.hpp"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

namespace gpuctl::app {
namespace {

// {"ts": seconds since 1970, "level": ..., "msg": ...}
class JsonLines final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        const std::chrono::duration<double> since = message.time.time_since_epoch();
        nlohmann::ordered_json line;
        line["ts"] = since.count();
        const auto level = spdlog::level::to_string_view(message.level);
        line["level"] = std::string{level.data(), level.size()};
        line["msg"] = std::string{message.payload.data(), message.payload.size()};
        const std::string text =
            line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        out.append(text.data(), text.data() + text.size());
    }
    [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<JsonLines>();
    }
};

}  // namespace

void set_up_logging(const config::Logging& logging) {
    auto logger = std::make_shared<spdlog::logger>(
        "gpuctld", std::make_shared<spdlog::sinks::stdout_sink_mt>());
    if (logging.format == "json") {
        logger->set_formatter(std::make_unique<JsonLines>());
    } else {
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    }
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
    set_log_level(logging.level);
}

void set_log_level(const std::string& level) {
    spdlog::set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
}

}  // namespace gpuctl::app
