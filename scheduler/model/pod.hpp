#pragma once
// One pod incarnation as the engine sees it. The facts come from outside (API server or virtual
// cluster); what the engine decided about the pod is kept beside them in ClusterState.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/devices.hpp"
#include "scheduler/model/gang.hpp"
#include "scheduler/model/placement.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

struct ObjectKey {
    std::string namespace_name;
    std::string name;
    friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
BOOST_DESCRIBE_STRUCT(ObjectKey, (), (namespace_name, name))

// Only the key of a job that gpuctl was given is its plain name (ADR 0025). A lone pod is a job of
// its own (ruling 7) and a gang that others made is one: their keys carry these before the name, as
// that of pods of somebody's own Deployment carries "Deployment." with its revision and a colon, so
// that a submitted job of the same name is another job; no Kubernetes name has a colon.
inline constexpr std::string_view kLonePodPrefix = "pod:";
inline constexpr std::string_view kForeignGangPrefix = "gang:";
// Of the many alike groups that one controller makes, each is a gang of its own:
// "gang.LeaderWorkerSet.serve:llm-0", where the pods say "serve" and the controller "llm" and 0.
inline constexpr std::string_view kMadeGangPrefix = "gang.";
inline bool is_foreign_gang(std::string_view job) {
    return job.starts_with(kForeignGangPrefix) || job.starts_with(kMadeGangPrefix);
}
// How a job that gpuctl was given is told from others of its name: "gpuctl:train".
inline constexpr std::string_view kOwnJobPrefix = "gpuctl:";

// Pods of one controller that each name their node are a job for each pool:
// "DaemonSet.6d8f@training:agent". No pool, and no revision, has that sign in its name.
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

// The job's name as people know it.
inline std::string shown_name(const ObjectKey& job) {
    const std::size_t colon = job.name.find(':');
    return colon == std::string::npos ? job.name : job.name.substr(colon + 1);
}
// The one name that nothing else in its namespace has.
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

// Priorities of at least this are the cluster's own (S35): outside every queue and quota.
inline constexpr std::int32_t kSystemPriority = 2'000'000'000;

struct PodFacts {
    std::string uid;  // the incarnation; a name may come back with another uid
    ObjectKey key;
    bool ours = false;            // spec.schedulerName is ours; all others only take up room (S12)
    bool gated = false;           // scheduling gates present: no attempt, no status write (S2)
    bool terminating = false;     // still holds its resources until removed or terminal (S34)
    bool has_controller = false;  // only such pods may be deleted to roll a gang back, or evicted
    std::string controller_uid;   // of that; empty where nobody says it
    bool preemptible = false;     // may be stopped for the sake of others
    // Its user did not say so: for higher priority it may be where its pool lets it (PoolPolicy).
    bool preemptible_is_default = false;
    bool preempts = true;      // may have others of lower priority stopped
    bool runs_to_end = false;  // what it does comes to an end, unlike a service
    PodPhase phase = PodPhase::pending;
    std::string status;   // what users read: phase or the container's waiting reason
    std::string node;     // empty: not bound
    std::string address;  // shown to users only; empty: none yet
    std::int32_t priority = 0;
    std::int32_t restarts = 0;
    Instant created_at;
    Instant started_at;            // running since
    Instant finished_at;           // terminal since
    Duration checkpoint_interval;  // 0: what it did since its start is lost when it is stopped
    Duration restart_cost;         // until it is again where it was
    Duration stop_grace = Duration::seconds(30);  // from being told to stop to being killed

    // The job (unit of queueing and explaining) is (key.namespace_name, job). Empty: a lone pod.
    std::string job;
    bool gang = false;             // all of its job's ranks or none
    std::int32_t gang_min = 0;     // 0: not said on the pod, a GangObserved must say it
    std::string gang_min_problem;  // with 0: what is wrong with what the pod says, for people
    // Its controller makes the pods of its gang one after another, each when the one before is
    // ready: what that controller is and how it is told to make them all at once, for people.
    std::string made_in_turn;
    // What its user called the gang of which the controller made one for each of its groups: where
    // an object of that name says a size, all of them are that gang.
    std::string gang_named;
    std::string role;                     // in its gang; empty: none
    std::vector<RoleMinimum> gang_roles;  // of its gang, as the pod says
    std::int32_t rank = -1;               // completion index; -1: none
    std::string queue;                    // as named by the user; empty: policy decides
    std::string queue_suggested;          // by the pod for another scheduler; used if it exists
    std::string pool;            // as named by the user; empty: that of `pin`, else "default"
    NodePin pin;                 // the one node that its rules name, if they name one
    Duration run_time_max;       // killed then; 0: no limit
    Duration run_time_expected;  // by its user; 0: not said

    Resources request;
    PlacementRules rules;
    std::vector<std::string> unsupported;  // features we do not honour yet, in users' words

    // With `node`, of a pod that holds a part of a GPU: which device, as its binding said.
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
