#pragma once
// One pod incarnation as the engine sees it. The facts come from outside (API server or simulated
// cluster); ClusterState stores the engine's decisions about the pod separately.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/gpu/devices.hpp"
#include "scheduler/model/job/gang.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

struct ObjectKey {
    std::string namespace_name;
    std::string name;
    friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
BOOST_DESCRIBE_STRUCT(ObjectKey, (), (namespace_name, name))

// Only the key of a submitted job is its plain name (docs/adr/0025). A lone pod is a job of its
// own, and so is a gang of foreign pods: their keys carry these prefixes. The keys of pods of a
// foreign Deployment begin with "Deployment.", its revision and a colon. So a submitted job of the
// same name is another job: no Kubernetes name has a colon.
inline constexpr std::string_view kLonePodPrefix = "pod:";
inline constexpr std::string_view kForeignGangPrefix = "gang:";
// One controller may create many equal groups, and each group is a gang of its own:
// "gang.LeaderWorkerSet.serve:llm-0", where the pods name "serve" and the controller names "llm"
// and 0.
inline constexpr std::string_view kMadeGangPrefix = "gang.";
inline bool is_foreign_gang(std::string_view job) {
    return job.starts_with(kForeignGangPrefix) || job.starts_with(kMadeGangPrefix);
}
// Prefix that distinguishes a submitted job from other jobs of the same name: "gpuctl:train".
inline constexpr std::string_view kOwnJobPrefix = "gpuctl:";

// Pods of one controller that each name their node form one job per pool:
// "DaemonSet.6d8f@training:agent". Names of pools and revisions do not contain this character.
inline constexpr char kPoolSign = '@';
inline std::string job_in_pool(const std::string& job, std::string_view pool) {
    const std::size_t colon = job.find(':');
    if (colon == std::string::npos || job.starts_with(kLonePodPrefix)) return job;
    return job.substr(0, colon) + kPoolSign + std::string{pool} + job.substr(colon);
}
inline std::string job_in_any_pool(const std::string& job) {
    const std::size_t sign = job.find(kPoolSign);
    const std::size_t colon = job.find(':');
    if (sign == std::string::npos || colon == std::string::npos || colon < sign) return job;
    return job.substr(0, sign) + job.substr(colon);
}

// The name of the job as messages show it.
inline std::string shown_name(const ObjectKey& job) {
    const std::size_t colon = job.name.find(':');
    return colon == std::string::npos ? job.name : job.name.substr(colon + 1);
}
// The name of the job that is unique in its namespace.
inline std::string whole_name(const ObjectKey& job) {
    const bool is_own = job.name.find(':') == std::string::npos;
    return (is_own ? std::string{kOwnJobPrefix} : std::string{}) + job.name;
}
inline std::string to_string(const ObjectKey& key) {
    return key.namespace_name + "/" + shown_name(key);
}

enum class PodPhase : std::uint8_t { pending, running, succeeded, failed };
BOOST_DESCRIBE_ENUM(PodPhase, pending, running, succeeded, failed)

constexpr bool is_terminal(PodPhase phase) {
    return phase == PodPhase::succeeded || phase == PodPhase::failed;
}

// Pods of at least this priority belong to the cluster itself (system-cluster-critical). They are
// outside every queue and quota.
inline constexpr std::int32_t kSystemPriority = 2'000'000'000;

struct PodFacts {
    // identifies the incarnation; a new pod may have the same name and another uid
    std::string uid;
    ObjectKey key;
    bool ours = false;   // spec.schedulerName is ours; other pods only use capacity
    bool gated = false;  // scheduling gates are present: the pod is not tried and gets no status
    bool terminating = false;  // it holds its resources until it is removed or terminal
    // only such pods may be deleted in a roll-back of a gang, or evicted
    bool has_controller = false;
    std::string controller_uid;  // uid of the controller; empty if unknown
    bool preemptible = false;    // may be preempted
    // The user did not state `preemptible`: preemption by priority depends on the pool
    // (PoolPolicy).
    bool preemptible_is_default = false;
    bool preempts = true;      // may preempt pods of lower priority
    bool runs_to_end = false;  // its work ends by itself, unlike a service
    PodPhase phase = PodPhase::pending;
    std::string status;   // phase, or the waiting reason of the container; shown to users
    std::string node;     // empty: not bound
    std::string address;  // shown to users only; empty: none yet
    std::int32_t priority = 0;
    std::int32_t restarts = 0;
    Instant created_at;
    Instant started_at;            // running since
    Instant finished_at;           // terminal since
    Duration checkpoint_interval;  // 0: a preemption loses all work since the start
    Duration restart_cost;         // until it has reached its previous progress again
    Duration stop_grace = Duration::seconds(30);  // from SIGTERM to SIGKILL

    // The job (unit of queueing and explaining) is (key.namespace_name, job). Empty: a lone pod.
    std::string job;
    bool gang = false;          // all ranks of its job are placed, or none
    std::int32_t gang_min = 0;  // 0: not stated on the pod, a GangObserved must state it
    // if gang_min is 0: what is wrong with the pod's statement, for messages
    std::string gang_min_problem;
    // The controller creates the pods of the gang one after another, each when the previous one is
    // ready. The text names the controller and how to make it create all pods at once, for
    // messages.
    std::string made_in_turn;
    // The user's name of the gang, if the controller creates one gang for each of its groups. If an
    // object of that name states a size, the size holds for each group.
    std::string gang_named;
    std::string role;                     // role of the pod in its gang; empty: no role
    std::vector<RoleMinimum> gang_roles;  // roles of its gang, as the pod states them
    std::int32_t rank = -1;               // completion index; -1: none
    std::string queue;                    // as named by the user; empty: the policy decides
    std::string queue_suggested;          // named for another scheduler; used if it exists
    std::string pool;  // as named by the user; empty: the pool of `pin`, or "default" without `pin`
    NodePin pin;       // the one node that the pod's rules name, if any
    Duration run_time_max;       // the pod is killed after this time; 0: no limit
    Duration run_time_expected;  // stated by its user; 0: not stated

    Resources request;
    PlacementRules rules;
    std::vector<std::string> unsupported;  // features that are not supported, as users write them

    // For a bound pod that holds a fraction of a GPU: the device, as its binding states it.
    std::int32_t gpu_device = kNoDevice;

    friend auto operator<=>(const PodFacts&, const PodFacts&) = default;
};
BOOST_DESCRIBE_STRUCT(PodFacts, (),
                      (uid, key, ours, gated, terminating, has_controller, controller_uid,
                       preemptible, preemptible_is_default, preempts, runs_to_end, phase, status,
                       node, address, priority, restarts, created_at, started_at, finished_at,
                       checkpoint_interval, restart_cost, stop_grace, job, gang, gang_min,
                       gang_min_problem, made_in_turn, gang_named, role, gang_roles, rank, queue,
                       queue_suggested, pool, pin, run_time_max, run_time_expected, request, rules,
                       unsupported, gpu_device))

}  // namespace gpuctl
