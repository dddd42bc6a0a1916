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

// The file as it is. Without one, an empty file that does not exist.
struct ConfigurationFile {
    std::string path;
    bool exists = false;
    std::string current;
    nlohmann::json contexts = nlohmann::json::object();
};
// `path` is the value of --config; empty: GPUCTL_CONFIG or the usual place.
Result<ConfigurationFile> read_configuration(const std::string& path);

// Writes the context's name into the file, whose other lines stay as they are.
Result<void> use_context(const std::string& path, const std::string& context);

// Reads a file that the configuration or a flag names.
Result<std::string> read_configured(const std::string& path);

// "" when it is not set.
std::string environment(const char* name);
std::optional<std::string> environment_or_nothing(const char* name);

}  // namespace gpuctl::cli
