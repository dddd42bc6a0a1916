#include "k8s/auth/credentials_exec.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "k8s/auth/kubeconfig_text.hpp"
#include "text/time.hpp"
#include "text/token.hpp"

extern char** environ;

namespace gpuctl::k8s {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStdoutBytesMax = 1u << 20;
constexpr std::size_t kStderrBytesKept = 2'048;

Error failure(const ExecPlugin& plugin, std::string why) {
    std::string message = "run exec credential plugin " + plugin.command + ": " + std::move(why);
    if (!plugin.install_hint.empty()) message += "; " + plugin.install_hint;
    return make_error(ErrorCode::Unauthorized, std::move(message));
}

class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int value() const { return value_; }
    [[nodiscard]] bool open() const { return value_ >= 0; }
    void close() {
        if (value_ >= 0) ::close(value_);
        value_ = -1;
    }

private:
    int value_;
};

// The child's two output pipes, read until both end or the deadline passes.
struct Output {
    std::string out;
    std::string err;
    bool timed_out = false;
    bool too_long = false;
};

// False when the pipe has ended.
bool drain(int descriptor, std::string& into, std::size_t bytes_max, bool& overflow) {
    std::array<char, 4096> piece{};
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    const std::size_t room = bytes_max - std::min(bytes_max, into.size());
    overflow = overflow || static_cast<std::size_t>(got) > room;
    into.append(piece.data(), std::min(room, static_cast<std::size_t>(got)));
    return true;
}

Output read_both(Descriptor& out, Descriptor& err, Clock::time_point until) {
    Output output;
    bool stderr_overflow = false;  // only the beginning is needed
    while (out.open() || err.open()) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        if (left <= 0) {
            output.timed_out = true;
            break;
        }
        std::array<pollfd, 2> waits{{{out.value(), POLLIN, 0}, {err.value(), POLLIN, 0}}};
        const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left));
        if (ready < 0 && errno != EINTR) break;
        if (ready <= 0) continue;
        if (waits[0].revents != 0 &&
            !drain(out.value(), output.out, kStdoutBytesMax, output.too_long)) {
            out.close();
        }
        if (waits[1].revents != 0 &&
            !drain(err.value(), output.err, kStderrBytesKept, stderr_overflow)) {
            err.close();
        }
        if (output.too_long) break;
    }
    return output;
}

// Our variables, then the plugin's, then the request itself; a later one wins.
std::vector<std::string> child_environment(const ExecPlugin& plugin, const std::string& info) {
    std::vector<std::string> all;
    const auto put = [&](const std::string& name, const std::string& value) {
        std::erase_if(all, [&](const std::string& entry) { return entry.starts_with(name + "="); });
        all.push_back(name + "=" + value);
    };
    for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
    for (const auto& [name, value] : plugin.environment) put(name, value);
    put("KUBERNETES_EXEC_INFO", info);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

// The child leads its own process group, so that its children are killed with it.
int spawn_child(const ExecPlugin& plugin, const std::string& info, int out, int err, pid_t& child) {
    std::vector<std::string> arguments{plugin.command};
    arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
    std::vector<std::string> environment = child_environment(plugin, info);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const int failed = posix_spawnp(&child, plugin.command.c_str(), &actions, &attributes,
                                    pointers(arguments).data(), pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

// Waits for the child's end until the deadline, then kills its group; its wait status. A kernel
// without pidfd (before 5.3) counts as the deadline passed: the plugin is ended rather than waited
// for without a bound.
int reap(pid_t child, Clock::time_point until, bool& timed_out) {
    int status = 0;
    // glibc 2.36 declares pidfd_open() without extern "C".
    const Descriptor process{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
    while (!timed_out) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd ended{process.value(), POLLIN, 0};
        const int ready =
            left > 0 && process.open() ? ::poll(&ended, 1, static_cast<int>(left)) : 0;
        if (ready > 0) break;
        timed_out = ready == 0 || errno != EINTR;
    }
    if (timed_out) ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

std::string first_line(std::string_view text) {
    return std::string{text.substr(0, std::min(text.find('\n'), text.size()))};
}

std::string text_of(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClusterAccess& access,
                      const std::string& ca_pem) {
    nlohmann::json spec{{"interactive", false}};
    if (plugin.provide_cluster_info) {
        nlohmann::json cluster{{"server", to_string(access.server)}};
        if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
        if (access.insecure_skip_verify) cluster["insecure-skip-tls-verify"] = true;
        if (!ca_pem.empty()) cluster["certificate-authority-data"] = encode_base64(ca_pem);
        spec["cluster"] = cluster;
    }
    const nlohmann::json info{
        {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}};
    return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view output) {
    const auto json = nlohmann::json::parse(output, nullptr, false);
    if (!json.is_object() || text_of(json, "kind") != "ExecCredential") {
        return failure(plugin, "its output is not an ExecCredential");
    }
    if (const std::string version = text_of(json, "apiVersion"); version != plugin.api_version) {
        return failure(plugin, "its answer has version '" + version +
                                   "', the kubeconfig requires '" + plugin.api_version + "'");
    }
    const auto status = json.find("status");
    if (status == json.end() || !status->is_object())
        return failure(plugin, "its answer has no status");
    ExecCredential credential{text_of(*status, "token"), text_of(*status, "clientCertificateData"),
                              text_of(*status, "clientKeyData"), std::nullopt};
    if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
        return failure(
            plugin,
            "its answer has a client certificate without a key, or a key without a certificate");
    }
    if (credential.token.empty() && credential.certificate_pem.empty()) {
        return failure(plugin, "its answer has neither a token nor a client certificate");
    }
    if (!credential.token.empty()) {
        const std::string problem = text::problem_with_token(credential.token);
        if (!problem.empty()) return failure(plugin, "its token " + problem);
    }
    if (const std::string expiry = text_of(*status, "expirationTimestamp"); !expiry.empty()) {
        const std::optional<text::TimeStamp> expires = text::parse_rfc3339(expiry);
        if (!expires) {
            return failure(plugin, "its expirationTimestamp '" + expiry + "' is not a time");
        }
        credential.expires_at_ms = expires->seconds * 1'000;
    }
    return credential;
}

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const std::string& info,
                                       std::chrono::milliseconds timeout) {
    const auto until = Clock::now() + timeout;
    std::array<int, 2> out_pipe{-1, -1};
    std::array<int, 2> err_pipe{-1, -1};
    const bool made =
        ::pipe2(out_pipe.data(), O_CLOEXEC) == 0 && ::pipe2(err_pipe.data(), O_CLOEXEC) == 0;
    Descriptor out_read{out_pipe[0]};
    Descriptor out_write{out_pipe[1]};
    Descriptor err_read{err_pipe[0]};
    Descriptor err_write{err_pipe[1]};
    if (!made) return failure(plugin, std::string{"no pipe: "} + std::strerror(errno));
    pid_t child = -1;
    const int failed = spawn_child(plugin, info, out_write.value(), err_write.value(), child);
    if (failed != 0) return failure(plugin, std::strerror(failed));
    out_write.close();
    err_write.close();
    Output output = read_both(out_read, err_read, until);
    if (output.too_long) ::kill(-child, SIGKILL);
    const int status = reap(child, until, output.timed_out);
    if (output.too_long) return failure(plugin, "its output is longer than 1 MiB");
    if (output.timed_out) {
        return failure(plugin, "it did not end within " + std::to_string(timeout.count()) +
                                   " ms and was killed");
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const std::string how = WIFEXITED(status)
                                    ? "it ended with code " + std::to_string(WEXITSTATUS(status))
                                    : "it was ended by signal " + std::to_string(WTERMSIG(status));
        const std::string said = first_line(output.err);
        return failure(plugin, said.empty() ? how : how + " (" + said + ")");
    }
    return parse_exec_credential(plugin, output.out);
}

}  // namespace gpuctl::k8s
