#pragma once
// Small text forms found in a kubeconfig.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

// Standard alphabet with padding; line breaks are allowed, anything else is refused.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

struct ServerUrl {
    bool https = true;
    std::string host;  // without the brackets of an IPv6 address
    std::string port;
    std::string base_path;  // "" or "/prefix"
};
// The error's message continues the sentence "<key> ...".
Result<ServerUrl> parse_server_url(std::string_view url);

}  // namespace gpuctl::k8s
