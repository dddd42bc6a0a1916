#pragma once
// The user's configuration file, ~/.config/gpuctl/config.yaml: the servers that --context names.
//
//     current-context: lab          # used where --context and GPUCTL_CONTEXT say nothing
//     contexts:
//       lab:
//         server: https://gpuctld.lab.example:8000
//         ca-file: /etc/gpuctl/lab-ca.pem
//         certificate-file: /home/me/lab.pem                # where the server asks who we are
//         key-file: /home/me/lab.key
//         token-file: /home/me/.config/gpuctl/lab.token     # or token: TEXT
//         namespace: team-a
//
// What is written there and not understood is an error: a mistyped key would else send work to the
// wrong server in silence.

#include "cli/connection.hpp"

namespace gpuctl::cli {

// Fills in what `options` leaves open from the context it names, else from the current one.
Result<void> apply_context(ConnectionOptions& options);

// A file that the configuration or a flag names.
Result<std::string> read_configured(const std::string& path);

// "" when it is not set.
std::string environment(const char* name);
std::optional<std::string> environment_or_nothing(const char* name);

}  // namespace gpuctl::cli
