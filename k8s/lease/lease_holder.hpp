#pragma once
// The text in a Lease's holderIdentity, and whether the process that wrote it can still be alive.
//
//   in a pod:  <namespace>_<pod>_<uid>_<container>_<pid namespace>.<pid>_<uuid>
//   elsewhere: <host>_<uuid>
//
// Each process has its own identity. A holder is dead when its pod does not exist any more, when
// another pod has the name, or when it ran in the container in which this process runs now. An
// unknown answer, an error, and a silent holder prove nothing. (A pod deleted by force is gone
// before its process is: docs/adr/0035-leadership-after-a-crash.md.)

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/client/client.hpp"

namespace gpuctl::k8s {

// The pod that runs this process; deploy.yaml provides it through the downward API. An empty uid:
// not known, or no pod.
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
// nullopt: not the identity of a process in a pod.
std::optional<LeaseHolder> parse_lease_holder(std::string_view identity);

// The identity of this process.
std::string make_lease_identity(const PodIdentity& pod);

// The API path of the holder's pod.
std::string pod_path(const PodIdentity& pod);

// Whether a process of our own pid namespace exists; called only for such a process.
using IsRunning = std::function<bool(std::int64_t pid)>;
bool is_running(std::int64_t pid);

// `answer`: of pod_path(). `ours`: nullopt when this process runs outside a pod.
bool is_provably_dead(const LeaseHolder& holder, const std::optional<LeaseHolder>& ours,
                      const ApiResult<ApiResponse>& answer, const IsRunning& is_running);

}  // namespace gpuctl::k8s
