#pragma once
// How to reach a cluster and which identity to use: kubeconfig files, or the service account of the
// pod that runs this process. Reads only the files named; errors are sentences with the file and
// the key.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "text/url.hpp"

namespace gpuctl::k8s {

// A PEM given inline or as a file; both empty: not given. Inline data wins over the file.
struct PemSource {
    std::string file;  // absolute
    std::string data;  // PEM text, already decoded from base64
    [[nodiscard]] bool given() const { return !file.empty() || !data.empty(); }
};

struct ExecPlugin {
    std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
    std::string command;      // absolute, or looked up in PATH
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // added to our environment
    bool provide_cluster_info = false;
    std::string install_hint;
};

struct Impersonation {
    std::string user;
    std::string uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;
};

struct ClusterAccess {
    std::string origin;  // for messages: "context prod of /home/a/.kube/config"

    // the cluster
    text::Url server;
    PemSource ca;
    std::string tls_server_name;
    bool insecure_skip_verify = false;

    // The user. At most one of token, token_file, basic, exec is used, in this order: token_file,
    // token, basic, exec. A client certificate may be used in addition.
    PemSource client_certificate;
    PemSource client_key;
    std::string token;
    std::string token_file;
    std::string username;
    std::string password;
    std::optional<ExecPlugin> exec;
    Impersonation impersonate;

    std::string namespace_name;  // the context's; empty: not set
};

using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

struct KubeconfigChoice {
    std::string file;     // empty: the list in $KUBECONFIG, else ~/.kube/config
    std::string context;  // empty: current-context
};

Result<ClusterAccess> load_kubeconfig(const KubeconfigChoice& choice,
                                      const Environment& environment);

// `root` replaces /var/run/secrets/kubernetes.io/serviceaccount (tests).
Result<ClusterAccess> in_cluster_access(
    const Environment& environment,
    const std::string& root = "/var/run/secrets/kubernetes.io/serviceaccount");

// The whole of a small file (at most 1 MiB), or an error that names it and `key`.
Result<std::string> read_small_file(const std::string& path, std::string_view key);

}  // namespace gpuctl::k8s
