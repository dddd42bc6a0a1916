#include "policy_document/time_keys.hpp"

#include "text/time.hpp"

namespace gpuctl::config {

std::optional<Instant> read_time(const wire::Field& field) {
    const auto written = field.word();
    if (!written) return std::nullopt;
    const std::optional<Instant> time = text::parse_time(*written);
    if (!time) {
        field.error(
            "must be a time such as 2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00, "
            "not \"" +
            *written + "\"");
    }
    return time;
}

}  // namespace gpuctl::config
