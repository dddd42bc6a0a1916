#pragma once
// The text in a Lease's holderIdentity, and whether the process that wrote it can still be alive.
//
//   a pod's        <namespace>_<pod>_<uid>_<container>_<pid namespace>.<pid>_<uuid>
//   any other's    <host>_<uuid>
//
// Each process has an identity of its own. A holder is dead when its pod does not exist any more,
// or another pod has its name, or when it ran in the container of this pod in which we run now. An
// answer that was not understood, an error, and the silence of the holder prove nothing. (A pod
// that is deleted by force is gone before its process is:
// docs/adr/0035-leadership-after-a-crash.md.)

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/client.hpp"

namespace gpuctl::k8s {

// Of the pod that runs this process; deploy.yaml gives it through the downward API. An empty uid:
// not known, or there is no pod.
struct PodIdentity {
    std::string namespace_name;
    std::string name;
    std::string uid;
    std::string container;
    friend bool operator==(const PodIdentity&, const PodIdentity&) = default;
};

struct LeaseHolder {
    PodIdentity pod;
    std::uint64_t pid_namespace = 0;  // 0: not known
    std::int64_t pid = 0;             // in that namespace
    std::string process;              // a uuid
    friend bool operator==(const LeaseHolder&, const LeaseHolder&) = default;
};

std::string to_text(const LeaseHolder& holder);
// nullopt: not a pod's.
std::optional<LeaseHolder> parse_lease_holder(std::string_view identity);

// Of this process.
std::string make_lease_identity(const PodIdentity& pod);

// The path to ask for the holder's pod.
std::string pod_path(const PodIdentity& pod);

// Whether a process of our own pid namespace exists; asked only of such.
using IsRunning = std::function<bool(std::int64_t pid)>;
bool is_running(std::int64_t pid);

// `answer`: of pod_path(). `ours`: nullopt when this process belongs to no pod.
bool is_provably_dead(const LeaseHolder& holder, const std::optional<LeaseHolder>& ours,
                      const ApiResult<ApiResponse>& answer, const IsRunning& is_running);

}  // namespace gpuctl::k8s
