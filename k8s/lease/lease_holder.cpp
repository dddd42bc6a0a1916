#include "k8s/lease/lease_holder.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "aio/entropy.hpp"
#include "k8s/json/json_text.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

constexpr char kSeparator = '_';  // occurs in no Kubernetes name

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == text.npos) return parts;
        text.remove_prefix(at + 1);
    }
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

// /proc/self/ns/pid -> "pid:[4026531836]"; 0 where there is no /proc.
std::uint64_t own_pid_namespace() {
    std::array<char, 64> link{};
    const ssize_t size = ::readlink("/proc/self/ns/pid", link.data(), link.size());
    if (size <= 0) return 0;
    const std::string_view text{link.data(), static_cast<std::size_t>(size)};
    const std::size_t open = text.find('[');
    std::uint64_t number = 0;
    if (open == text.npos || !text.ends_with(']')) return 0;
    return read_number(text.substr(open + 1, text.size() - open - 2), number) ? number : 0;
}

std::string host_name() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    return host.data();
}

// Both in the same pod. Another pid namespace is another start of the container: a kubelet starts a
// container only after the previous one has ended. In the same namespace (shared, or a second
// gpuctld was started in the container) the process itself must be gone.
bool has_ended_in_our_pod(const LeaseHolder& holder, const LeaseHolder& ours,
                          const IsRunning& is_running) {
    if (holder.pod.container != ours.pod.container || holder.process == ours.process) return false;
    if (holder.pid_namespace == 0 || ours.pid_namespace == 0) return false;
    if (holder.pid_namespace != ours.pid_namespace) return true;
    return holder.pid == ours.pid || !is_running(holder.pid);
}

}  // namespace

std::string to_text(const LeaseHolder& holder) {
    const PodIdentity& pod = holder.pod;
    return pod.namespace_name + kSeparator + pod.name + kSeparator + pod.uid + kSeparator +
           pod.container + kSeparator + std::to_string(holder.pid_namespace) + '.' +
           std::to_string(holder.pid) + kSeparator + holder.process;
}

std::optional<LeaseHolder> parse_lease_holder(std::string_view identity) {
    const auto parts = split(identity, kSeparator);
    if (parts.size() != 6) return std::nullopt;
    for (const std::string_view part : parts) {
        if (part.empty()) return std::nullopt;
    }
    LeaseHolder holder{{std::string{parts[0]}, std::string{parts[1]}, std::string{parts[2]},
                        std::string{parts[3]}},
                       0,
                       0,
                       std::string{parts[5]}};
    const auto numbers = split(parts[4], '.');
    if (numbers.size() != 2 || !read_number(numbers[0], holder.pid_namespace) ||
        !read_number(numbers[1], holder.pid)) {
        return std::nullopt;
    }
    return holder;
}

std::string make_lease_identity(const PodIdentity& pod) {
    if (pod.uid.empty()) return host_name() + kSeparator + aio::random_uuid();
    return to_text({pod, own_pid_namespace(), ::getpid(), aio::random_uuid()});
}

std::string pod_path(const PodIdentity& pod) {
    return "/api/v1/namespaces/" + net::percent_encode(pod.namespace_name) + "/pods/" +
           net::percent_encode(pod.name);
}

bool is_running(std::int64_t pid) {
    if (pid <= 0) return true;  // not a process: proves nothing
    return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

bool is_provably_dead(const LeaseHolder& holder, const std::optional<LeaseHolder>& ours,
                      const ApiResult<ApiResponse>& answer, const IsRunning& is_running) {
    if (!answer) {
        // The body must be the API server's own: a 404 of a proxy proves nothing.
        const ApiError& error = answer.error();
        return error.code == ErrorCode::NotFound && error.http_status == 404 &&
               error.reason == "NotFound";
    }
    const auto found = identity_of(answer->body);
    if (!found || found->uid.empty() || found->name != holder.pod.name) return false;
    if (found->uid != holder.pod.uid) return true;
    return ours && ours->pod.uid == holder.pod.uid &&
           has_ended_in_our_pod(holder, *ours, is_running);
}

}  // namespace gpuctl::k8s
