#include "k8s/json/object_time.hpp"

#include "text/time.hpp"

namespace gpuctl::k8s {

Instant parse_object_time(std::string_view text) {
    return text::parse_time(text).value_or(Instant{});
}

std::string format_object_time(Instant time) { return text::format_rfc3339(time.ms() / 1'000); }

std::string format_micro_time(Instant time) { return text::format_rfc3339_us(time.ms() * 1'000); }

}  // namespace gpuctl::k8s
