#pragma once
// State of the virtual cluster. Private to sim/cluster*.cpp. The structs are described, so that all
// of the state can be hashed.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"
#include "sim/settings.hpp"

namespace gpuctl::sim {

// What a pod does next.
//
//     bind --> creating --starts--> running --exits--> succeeded | failed          (training)
//                 |                    ^   '--exits--> crash loop --starts--. (all other kinds)
//                 |                    '-----------------------------------'
//                 '--pull_fails--> ErrImagePull --pull_waits--> ImagePullBackOff
//     any but the ends --deletion--> terminating --is_gone--> removed
//     on a lost node: nothing, until is_evicted (--> terminating) or the node returns
enum class PodStep : std::uint8_t { starts, exits, pull_fails, pull_waits, is_gone, is_evicted };

struct PodState {
    PodFacts facts;
    std::string job_uid;
    std::uint64_t generation = 0;  // steps planned for an older generation are void
    // The container that runs or waits to be restarted:
    Instant exit_at;          // default: it runs until it is stopped
    std::string exit_status;  // shown to users; empty: exit code 0
    bool exit_ends_job = false;
};
BOOST_DESCRIBE_STRUCT(PodState, (),
                      (facts, job_uid, generation, exit_at, exit_status, exit_ends_job))

struct Workload {
    JobRecord job;
    std::int32_t ranks = 0;   // training: size at the last resize
    bool paused = false;      // has no pods for now
    bool is_changed = false;  // by its user: its state is reported
    bool deleted = false;     // creates no more pods; removed with its last pod
    bool finished = false;    // training: all ranks succeeded, or the job failed
    Instant finished_at;
    std::optional<std::pair<Instant, std::uint64_t>> removal;  // key of its planned removal
    std::int32_t failures = 0;
    Instant retry_at;               // training: a failed rank is not replaced before
    std::vector<std::string> pods;  // uids, oldest first
};
BOOST_DESCRIBE_STRUCT(Workload, (),
                      (job, ranks, paused, is_changed, deleted, finished, finished_at, removal,
                       failures, retry_at, pods))

struct NodeState {
    NodeFacts facts;
    bool lost = false;
    std::set<std::string> pods;  // uids
};

struct PodDue {
    std::string uid;
    std::uint64_t generation = 0;
    PodStep step{};
};
BOOST_DESCRIBE_STRUCT(PodDue, (), (uid, generation, step))
struct WorkloadDue {
    std::string uid;
};
BOOST_DESCRIBE_STRUCT(WorkloadDue, (), (uid))
struct EffectDue {  // an effect reaches the API server
    Effect effect;
};
BOOST_DESCRIBE_STRUCT(EffectDue, (), (effect))
struct EventDue {  // an event reaches the engine
    Event event;
};
BOOST_DESCRIBE_STRUCT(EventDue, (), (event))
using Due = std::variant<PodDue, WorkloadDue, EffectDue, EventDue>;

}  // namespace gpuctl::sim
