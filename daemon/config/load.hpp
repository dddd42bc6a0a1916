#pragma once
// Reads gpuctld.yaml. Unknown key, wrong type, impossible value, a key of the mode that is not
// chosen: an Error (InvalidConfiguration) with file, line, column and, for names, the nearest right
// one.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::config {

// The environment's GPUCTLD_<SECTION>_<KEY> (GPUCTLD_SERVER_PORT,
// GPUCTLD_CLUSTER_KUBERNETES_CONTEXT) win over the file. An empty path means no file: defaults and
// environment.
Result<Config> load_file(const std::string& path);
// `cluster`: the one that counts where the text says nothing of it.
Result<Config> parse(std::string_view yaml, const std::string& file_name,
                     const std::map<std::string, std::string>& environment = {},
                     const Cluster& cluster = {});

// The configuration as a gpuctld.yaml with every key and its meaning; keys without a value and the
// section of the mode that is not chosen are comments. config/gpuctld.yaml is this of Config{}.
// It holds no secrets: those are only ever named by file.
std::string print_config(const Config& config);

struct KeyDescription {
    std::string path;         // server.tls.certificateFile, policy.pools[].name
    std::string environment;  // "" for keys inside lists
    std::string meaning;
};
std::vector<KeyDescription> describe_keys();

// Combinations that must not start: a non-loopback address without TLS and tokens, ...
Result<void> check_safe(const Config& config);

// What may change on SIGHUP without a restart (policy, tokens, certificates, logging level);
// anything else that differs is named in the Error and nothing is taken over.
Result<void> check_reloadable(const Config& running, const Config& wanted);

}  // namespace gpuctl::config
