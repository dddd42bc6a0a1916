#include "daemon/config/service_links.hpp"

#include <algorithm>
#include <optional>

#include "scheduler/base/ascii.hpp"

namespace gpuctl::config {
namespace {

using Environment = std::map<std::string, std::string>;

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// tcp://10.0.0.7:443, tcp://[fd00::7]:443
bool is_address(std::string_view value) {
    for (const std::string_view scheme : {"tcp://", "udp://", "sctp://"}) {
        if (!value.starts_with(scheme)) continue;
        const std::size_t colon = value.rfind(':');
        return colon > scheme.size() && is_number(value.substr(colon + 1));
    }
    return false;
}

std::optional<std::string_view> without_ending(std::string_view name, std::string_view ending) {
    if (!name.ends_with(ending)) return std::nullopt;
    return name.substr(0, name.size() - ending.size());
}

// ..._PORT_443_TCP
bool names_a_port(std::string_view name) {
    for (const std::string_view protocol : {"_TCP", "_UDP", "_SCTP"}) {
        const auto numbered = without_ending(name, protocol);
        if (!numbered) continue;
        const std::size_t at = numbered->rfind("_PORT_");
        return at != numbered->npos && is_number(numbered->substr(at + 6));
    }
    return false;
}

bool is_part_of_port(std::string_view name) {
    for (const std::string_view ending : {"_PROTO", "_PORT", "_ADDR"}) {
        const auto port = without_ending(name, ending);
        if (port && names_a_port(*port)) return true;
    }
    return false;
}

// The two variables that every service has.
bool is_service(std::string_view prefix, const Environment& environment) {
    return environment.contains(std::string{prefix} + "_SERVICE_HOST") &&
           environment.contains(std::string{prefix} + "_SERVICE_PORT");
}

bool is_of_service(std::string_view name, std::string_view value, const Environment& environment) {
    if (const auto prefix = without_ending(name, "_SERVICE_HOST")) {
        return is_service(*prefix, environment);
    }
    // ..._SERVICE_PORT, ..._SERVICE_PORT_HTTPS
    constexpr std::string_view port = "_SERVICE_PORT";
    if (!is_number(value)) return false;
    for (std::size_t at = name.find(port); at != name.npos; at = name.find(port, at + 1)) {
        const std::string_view behind = name.substr(at + port.size());
        const bool is_whole_word = behind.empty() || behind.front() == '_';
        if (is_whole_word && is_service(name.substr(0, at), environment)) return true;
    }
    return false;
}

// Docker's: ..._NAME=/web/gpuctld, ..._ENV_PATH=/bin.
bool is_of_container(std::string_view name, std::string_view value,
                     const Environment& environment) {
    const auto is_linked = [&](std::string_view prefix) {
        const auto port = environment.find(std::string{prefix} + "_PORT");
        return port != environment.end() && is_address(port->second);
    };
    const auto named = without_ending(name, "_NAME");
    if (named && value.starts_with('/')) return is_linked(*named);
    const std::size_t at = name.find("_ENV_");
    return at != name.npos && is_linked(name.substr(0, at));
}

}  // namespace

bool is_service_link(std::string_view name, std::string_view value,
                     const Environment& environment) {
    if (is_part_of_port(name)) return true;
    if (name.ends_with("_PORT") || names_a_port(name)) {
        if (is_address(value)) return true;
    }
    return is_of_service(name, value, environment) || is_of_container(name, value, environment);
}

}  // namespace gpuctl::config
