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
// `cluster`: the policy's cluster-wide name where the text has none.
Result<Config> parse(std::string_view yaml, const std::string& file_name,
                     const std::map<std::string, std::string>& environment = {},
                     const Cluster& cluster = {});

// The configuration as a gpuctld.yaml with every key and its meaning; keys without a value and the
// sections of other modes are comments. config/gpuctld.yaml is this of Config{}. It holds no
// secrets, which are only named by file.
std::string print_config(const Config& config);
// The same with the source of each value after it, as a comment (sources.hpp).
std::string print_config_with_sources(const Config& config);

struct KeyDescription {
    std::string path;         // server.tls.certificateFile, policy.pools[].name
    std::string environment;  // "" for keys inside lists
    std::string meaning;      // of a key that has moved: where it is now
    bool has_moved = false;
};
std::vector<KeyDescription> describe_keys();
// Including moved keys.
std::vector<KeyDescription> describe_moved_and_present_keys();

// Combinations that must not start: a non-loopback address without TLS and tokens, ...
Result<void> check_safe(const Config& config);

// What may change on SIGHUP without a restart (policy, tokens, certificates, logging level); any
// other difference is named in the Error and nothing is applied.
Result<void> check_reloadable(const Config& running, const Config& wanted);

}  // namespace gpuctl::config
