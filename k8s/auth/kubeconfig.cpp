#include "k8s/auth/kubeconfig.hpp"

#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "k8s/auth/kubeconfig_text.hpp"

namespace gpuctl::k8s {

namespace {

namespace fs = std::filesystem;

// One named entry (cluster, user or context) and the file it was first defined in.
struct Entry {
    YAML::Node node;
    fs::path file;
    std::string label;  // users[name=admin]
    [[nodiscard]] bool found() const { return !file.empty(); }
};

struct LoadedFile {
    fs::path path;
    YAML::Node root;
};

Error refuse(const fs::path& file, std::string_view key, std::string_view why) {
    return make_error(
        ErrorCode::InvalidConfiguration,
        "read kubeconfig " + file.string() + ": " + std::string{key} + " " + std::string{why});
}

Error refuse(const Entry& entry, std::string_view key, std::string_view why) {
    return refuse(entry.file, entry.label + "." + std::string{key}, why);
}

// A scalar member as text; "" when absent. Anything but a scalar is an error.
Result<std::string> text_member(const Entry& entry, const YAML::Node& node, const char* key) {
    const YAML::Node value = node[key];
    if (!value.IsDefined() || value.IsNull()) return std::string{};
    if (!value.IsScalar()) return refuse(entry, key, "must be text");
    return value.Scalar();
}

Result<bool> bool_member(const Entry& entry, const YAML::Node& node, const char* key) {
    auto text = text_member(entry, node, key);
    if (!text) return text.error();
    if (text->empty() || *text == "false") return false;
    if (*text == "true") return true;
    return refuse(entry, key, "must be true or false, not '" + *text + "'");
}

Result<std::vector<std::string>> list_member(const Entry& entry, const YAML::Node& node,
                                             const char* key) {
    std::vector<std::string> out;
    const YAML::Node value = node[key];
    if (!value.IsDefined() || value.IsNull()) return out;
    if (!value.IsSequence()) return refuse(entry, key, "must be a list of text values");
    for (const auto& element : value) {
        if (!element.IsScalar()) return refuse(entry, key, "must be a list of text values");
        out.push_back(element.Scalar());
    }
    return out;
}

// As kubectl: <key>-data wins over <key>; a relative path is relative to the kubeconfig that names
// it.
Result<PemSource> pem_member(const Entry& entry, const YAML::Node& node, const std::string& key) {
    PemSource pem;
    auto data = text_member(entry, node, (key + "-data").c_str());
    if (!data) return data.error();
    auto file = text_member(entry, node, key.c_str());
    if (!file) return file.error();
    if (!data->empty()) {
        auto decoded = decode_base64(*data);
        if (!decoded) return refuse(entry, key + "-data", "is not valid base64");
        pem.data = std::move(*decoded);
    } else if (!file->empty()) {
        pem.file = (entry.file.parent_path() / *file).lexically_normal().string();
    }
    return pem;
}

Result<LoadedFile> load_file(const fs::path& path) {
    auto text = read_small_file(path.string(), "kubeconfig");
    if (!text) return text.error();
    try {
        YAML::Node root = YAML::Load(*text);
        if (!root.IsNull() && !root.IsMap()) {
            return refuse(path, "the document", "must be a mapping");
        }
        return LoadedFile{fs::absolute(path), root};
    } catch (const YAML::Exception& problem) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "read kubeconfig " + path.string() + ": line " +
                              std::to_string(problem.mark.line + 1) + ": " + problem.msg);
    }
}

// `kind`: clusters, users, contexts; `member`: cluster, user, context. As in kubectl, the first
// definition wins.
Result<Entry> find_entry(const std::vector<LoadedFile>& files, const std::string& kind,
                         const char* member, const std::string& name) {
    for (const LoadedFile& file : files) {
        const YAML::Node list = file.root[kind];
        if (!list.IsDefined() || list.IsNull()) continue;
        if (!list.IsSequence()) return refuse(file.path, kind, "must be a list");
        for (const auto& element : list) {
            if (!element.IsMap() || !element["name"].IsDefined() || !element["name"].IsScalar()) {
                return refuse(file.path, kind, "has an entry without a name");
            }
            if (element["name"].Scalar() != name) continue;
            Entry entry{element[member], file.path, kind + "[name=" + name + "]"};
            if (!entry.node.IsDefined() || entry.node.IsNull())
                entry.node = YAML::Node{YAML::NodeType::Map};
            if (!entry.node.IsMap()) return refuse(entry, member, "must be a mapping");
            return entry;
        }
    }
    return Entry{};
}

Result<std::vector<LoadedFile>> load_files(const KubeconfigChoice& choice,
                                           const Environment& environment) {
    std::vector<LoadedFile> files;
    if (!choice.file.empty()) {
        auto file = load_file(choice.file);
        if (!file) return file.error();
        files.push_back(std::move(*file));
        return files;
    }
    std::vector<std::string> paths;
    std::string tried;
    if (const auto list = environment("KUBECONFIG"); list && !list->empty()) {
        std::istringstream parts{*list};
        for (std::string part; std::getline(parts, part, ':');) {
            if (!part.empty()) paths.push_back(part);
        }
        tried = "$KUBECONFIG (" + *list + ")";
    } else if (const auto home = environment("HOME"); home && !home->empty()) {
        paths.push_back(*home + "/.kube/config");
        tried = paths.front();
    }
    for (const std::string& path : paths) {
        std::error_code ignored;
        if (!fs::exists(path, ignored)) continue;  // as kubectl skips it in a list
        auto file = load_file(path);
        if (!file) return file.error();
        files.push_back(std::move(*file));
    }
    if (files.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "read kubeconfig: no file found" +
                              (tried.empty() ? std::string{} : " at " + tried) +
                              "; name one in cluster.kubernetes.kubeconfig or set KUBECONFIG");
    }
    return files;
}

Result<void> read_server(const Entry& cluster, const std::string& server, ClusterAccess& access) {
    auto url = text::parse_url(server);
    if (!url) return refuse(cluster, "server", url.error().message);
    access.server = std::move(*url);
    return {};
}

Result<void> read_cluster(const Entry& cluster, ClusterAccess& access) {
    const YAML::Node& node = cluster.node;
    auto server = text_member(cluster, node, "server");
    auto server_name = text_member(cluster, node, "tls-server-name");
    auto proxy = text_member(cluster, node, "proxy-url");
    auto insecure = bool_member(cluster, node, "insecure-skip-tls-verify");
    auto ca = pem_member(cluster, node, "certificate-authority");
    if (!server) return server.error();
    if (!server_name) return server_name.error();
    if (!proxy) return proxy.error();
    if (!insecure) return insecure.error();
    if (!ca) return ca.error();
    if (server->empty()) return refuse(cluster, "server", "is missing");
    if (!proxy->empty()) {
        return refuse(cluster, "proxy-url",
                      "is not supported; make the API server reachable directly or through a "
                      "forwarded port and remove the key");
    }
    if (*insecure && ca->given()) {
        return refuse(cluster, "insecure-skip-tls-verify",
                      "is true while a certificate-authority is given; remove one of them");
    }
    access.ca = std::move(*ca);
    access.tls_server_name = std::move(*server_name);
    access.insecure_skip_verify = *insecure;
    return read_server(cluster, *server, access);
}

Result<std::vector<std::pair<std::string, std::string>>> read_exec_environment(
    const Entry& user, const YAML::Node& exec) {
    std::vector<std::pair<std::string, std::string>> out;
    const YAML::Node list = exec["env"];
    if (!list.IsDefined() || list.IsNull()) return out;
    if (!list.IsSequence()) return refuse(user, "exec.env", "must be a list");
    for (const auto& element : list) {
        if (!element.IsMap() || !element["name"].IsDefined() || !element["name"].IsScalar() ||
            !element["value"].IsDefined() || !element["value"].IsScalar()) {
            return refuse(user, "exec.env", "must hold name and value in each entry");
        }
        out.emplace_back(element["name"].Scalar(), element["value"].Scalar());
    }
    return out;
}

Result<ExecPlugin> read_exec(const Entry& user, const YAML::Node& node) {
    ExecPlugin plugin;
    auto api_version = text_member(user, node, "apiVersion");
    auto command = text_member(user, node, "command");
    auto arguments = list_member(user, node, "args");
    auto environment = read_exec_environment(user, node);
    auto interactive = text_member(user, node, "interactiveMode");
    auto cluster_info = bool_member(user, node, "provideClusterInfo");
    auto hint = text_member(user, node, "installHint");
    if (!api_version) return api_version.error();
    if (!command) return command.error();
    if (!arguments) return arguments.error();
    if (!environment) return environment.error();
    if (!interactive) return interactive.error();
    if (!cluster_info) return cluster_info.error();
    if (!hint) return hint.error();
    const bool v1 = *api_version == "client.authentication.k8s.io/v1";
    if (!v1 && *api_version != "client.authentication.k8s.io/v1beta1") {
        return refuse(user, "exec.apiVersion",
                      "is '" + *api_version +
                          "'; supported are client.authentication.k8s.io/v1 and /v1beta1");
    }
    if (command->empty()) return refuse(user, "exec.command", "is missing");
    if (v1 && interactive->empty()) {
        return refuse(user, "exec.interactiveMode", "is missing; set Never or IfAvailable");
    }
    if (*interactive == "Always") {
        return refuse(user, "exec.interactiveMode",
                      "is Always, but a daemon has no terminal; use a plugin that needs none");
    }
    if (!interactive->empty() && *interactive != "Never" && *interactive != "IfAvailable") {
        return refuse(user, "exec.interactiveMode", "must be Never, IfAvailable or Always");
    }
    plugin.api_version = std::move(*api_version);
    plugin.command = std::move(*command);
    if (const fs::path path{plugin.command}; path.is_relative() && path.has_parent_path()) {
        plugin.command = (user.file.parent_path() / path).lexically_normal().string();
    }
    plugin.arguments = std::move(*arguments);
    plugin.environment = std::move(*environment);
    plugin.provide_cluster_info = *cluster_info;
    plugin.install_hint = std::move(*hint);
    return plugin;
}

Result<Impersonation> read_impersonation(const Entry& user) {
    Impersonation impersonation;
    auto name = text_member(user, user.node, "as");
    auto uid = text_member(user, user.node, "as-uid");
    auto groups = list_member(user, user.node, "as-groups");
    if (!name) return name.error();
    if (!uid) return uid.error();
    if (!groups) return groups.error();
    const YAML::Node extra = user.node["as-user-extra"];
    if (extra.IsDefined() && !extra.IsNull()) {
        if (!extra.IsMap()) return refuse(user, "as-user-extra", "must be a mapping of lists");
        for (const auto& element : extra) {
            if (!element.first.IsScalar()) {
                return refuse(user, "as-user-extra", "must be a mapping of lists");
            }
            auto values = list_member(user, extra, element.first.Scalar().c_str());
            if (!values) return values.error();
            impersonation.extra[element.first.Scalar()] = std::move(*values);
        }
    }
    impersonation.user = std::move(*name);
    impersonation.uid = std::move(*uid);
    impersonation.groups = std::move(*groups);
    if (impersonation.user.empty() &&
        (!impersonation.uid.empty() || !impersonation.groups.empty() ||
         !impersonation.extra.empty())) {
        return refuse(user, "as", "is missing; as-uid, as-groups and as-user-extra need it");
    }
    return impersonation;
}

Result<void> read_user(const Entry& user, ClusterAccess& access) {
    const YAML::Node& node = user.node;
    if (node["auth-provider"].IsDefined()) {
        return refuse(user, "auth-provider",
                      "is not supported (Kubernetes dropped it in 1.26); use an exec plugin");
    }
    auto certificate = pem_member(user, node, "client-certificate");
    auto key = pem_member(user, node, "client-key");
    auto token = text_member(user, node, "token");
    auto token_file = text_member(user, node, "tokenFile");
    auto name = text_member(user, node, "username");
    auto password = text_member(user, node, "password");
    auto impersonation = read_impersonation(user);
    if (!certificate) return certificate.error();
    if (!key) return key.error();
    if (!token) return token.error();
    if (!token_file) return token_file.error();
    if (!name) return name.error();
    if (!password) return password.error();
    if (!impersonation) return impersonation.error();
    if (certificate->given() != key->given()) {
        return refuse(user, certificate->given() ? "client-key" : "client-certificate",
                      "is missing; a certificate needs its key, and a key its certificate");
    }
    access.client_certificate = std::move(*certificate);
    access.client_key = std::move(*key);
    access.token = std::move(*token);
    if (!token_file->empty()) {
        access.token_file = (user.file.parent_path() / *token_file).lexically_normal().string();
    }
    access.username = std::move(*name);
    access.password = std::move(*password);
    access.impersonate = std::move(*impersonation);
    const YAML::Node exec = node["exec"];
    if (!exec.IsDefined() || exec.IsNull()) return {};
    if (!exec.IsMap()) return refuse(user, "exec", "must be a mapping");
    auto plugin = read_exec(user, exec);
    if (!plugin) return plugin.error();
    // As in client-go, a plugin is ignored when the user has another way to authenticate.
    const bool other_way = !access.token.empty() || !access.token_file.empty() ||
                           !access.username.empty() || access.client_certificate.given();
    if (!other_way) access.exec = std::move(*plugin);
    return {};
}

Result<std::string> chosen_context(const KubeconfigChoice& choice,
                                   const std::vector<LoadedFile>& files) {
    if (!choice.context.empty()) return choice.context;
    for (const LoadedFile& file : files) {
        const YAML::Node current = file.root["current-context"];
        if (current.IsDefined() && current.IsScalar() && !current.Scalar().empty()) {
            return current.Scalar();
        }
    }
    return refuse(files.front().path, "current-context",
                  "is not set; name one in cluster.kubernetes.context");
}

Result<Entry> required_entry(const std::vector<LoadedFile>& files, const Entry& context,
                             const std::string& kind, const char* member) {
    auto name = text_member(context, context.node, member);
    if (!name) return name.error();
    if (name->empty()) return refuse(context, member, "is missing");
    auto entry = find_entry(files, kind, member, *name);
    if (!entry) return entry.error();
    if (!entry->found())
        return refuse(context, member, "names '" + *name + "', which is not defined");
    return entry;
}

Result<ClusterAccess> assemble(const KubeconfigChoice& choice,
                               const std::vector<LoadedFile>& files) {
    auto name = chosen_context(choice, files);
    if (!name) return name.error();
    auto context = find_entry(files, "contexts", "context", *name);
    if (!context) return context.error();
    if (!context->found()) {
        return refuse(files.front().path, "contexts", "has no context named '" + *name + "'");
    }
    ClusterAccess access;
    access.origin = "context " + *name + " of " + context->file.string();
    auto cluster = required_entry(files, *context, "clusters", "cluster");
    if (!cluster) return cluster.error();
    if (auto read = read_cluster(*cluster, access); !read) return read.error();
    auto user_name = text_member(*context, context->node, "user");
    if (!user_name) return user_name.error();
    if (!user_name->empty()) {
        auto user = required_entry(files, *context, "users", "user");
        if (!user) return user.error();
        if (auto read = read_user(*user, access); !read) return read.error();
    }
    auto namespace_name = text_member(*context, context->node, "namespace");
    if (!namespace_name) return namespace_name.error();
    access.namespace_name = std::move(*namespace_name);
    return access;
}

}  // namespace

Result<ClusterAccess> load_kubeconfig(const KubeconfigChoice& choice,
                                      const Environment& environment) {
    auto files = load_files(choice, environment);
    if (!files) return files.error();
    try {
        return assemble(choice, *files);
    } catch (const YAML::Exception& problem) {  // an unexpected form: yaml-cpp throws
        return refuse(files->front().path, "the document", problem.msg);
    }
}

}  // namespace gpuctl::k8s
