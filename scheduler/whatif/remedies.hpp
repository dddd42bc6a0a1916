#pragma once
// What would let a waiting job start now: single changes, each tried in a copy of the engine before
// it is told, each as small as it can be of its kind; where none does, two of them together.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/whatif/go_on.hpp"
#include "scheduler/whatif/stopped.hpp"

namespace gpuctl::whatif {

// In the order in which they are told: what its owner can do alone comes first.
enum class ChangeKind : std::uint8_t {
    fewer_gpus,        // amount: GPUs a pod may ask for
    fewer_ranks,       // amount: ranks the gang may have
    shorter_run_time,  // amount: seconds that it may run
    other_queue,       // subject: that queue of its pool
    other_pool,        // subject: that pool
    higher_limits,     // of queues and namespaces, each as far as the job needs
    jobs_move,         // amount: jobs that start again on other nodes of the pool (ADR 0023)
    job_ends,          // subject: namespace/name of a job whose end is enough; amount: its GPUs
    more_nodes,        // subject: the node they are like; amount: so many more of them
    two_changes        // its parts, together
};
BOOST_DESCRIBE_ENUM(ChangeKind, fewer_gpus, fewer_ranks, shorter_run_time, other_queue, other_pool,
                    higher_limits, jobs_move, job_ends, more_nodes, two_changes)

struct MovedPod {
    std::string name;
    std::string from;  // its node now
    std::string to;    // where it starts again
    friend auto operator<=>(const MovedPod&, const MovedPod&) = default;
};
// A running job that is stopped and, once the waiting one runs, started again.
struct MovedJob {
    ObjectKey key;
    bool is_submitted = false;  // through us
    GpuMilli gpus;
    std::int64_t lost_gpu_ms = 0;  // work that it does again
    std::vector<MovedPod> pods;
    friend auto operator<=>(const MovedJob&, const MovedJob&) = default;
};

struct Remedy {
    ChangeKind kind{};
    std::string subject;
    std::int64_t amount = 0;
    std::string sentence;  // "it would start now ..."
    // Of jobs_move: stopped together, started again in this order.
    std::vector<MovedJob> moves = {};
    // Of higher_limits: how far each limit in the way is raised, see limits_in_way().
    std::vector<std::int64_t> levels = {};
    std::vector<StoppedJob> stops = {};  // for the job, or for others by what the change brings
    std::vector<Remedy> parts = {};      // of two_changes
};

struct Remedies {
    std::vector<Remedy> found;  // at most one of each kind; two changes where no single one does
    std::vector<ChangeKind> tried;  // kinds of which at least one was lived, or looked for in vain
    // Trials or time were used up: there may be other changes, and smaller ones than those found.
    bool ended_early = false;
};

// `exported`: Engine::export_state() of the engine that holds the job. Nothing is tried when the
// job does not wait. At most 200 trials, each a copy of the state. Errors: JournalDamaged.
Result<Remedies> find_remedies(std::string_view exported, const ObjectKey& job, Instant now,
                               GoOn go_on = {});

}  // namespace gpuctl::whatif
