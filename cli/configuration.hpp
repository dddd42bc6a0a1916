#pragma once
// The user's configuration file, ~/.config/gpuctl/config.yaml: the servers that --context names.
//
//     current-context: lab          # used where --context and GPUCTL_CONTEXT say nothing
//     contexts:
//       lab:
//         server: https://gpuctld.lab.example:8000
//         ca-file: /etc/gpuctl/lab-ca.pem
//         certificate-file: /home/me/lab.pem                # where the server requires one
//         key-file: /home/me/lab.key
//         token-file: /home/me/.config/gpuctl/lab.token     # or token: TEXT
//         namespace: team-a
//
// An unknown key is an error: otherwise a mistyped key would silently send work to the wrong
// server.

#include "cli/connection.hpp"

namespace gpuctl::cli {

// Fills unset options from the context that `options` names, else from the current context.
Result<void> apply_context(ConnectionOptions& options);

// Reads a file that the configuration or a flag names.
Result<std::string> read_configured(const std::string& path);

// "" when it is not set.
std::string environment(const char* name);
std::optional<std::string> environment_or_nothing(const char* name);

}  // namespace gpuctl::cli
