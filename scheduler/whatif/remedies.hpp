#pragma once
// Changes that would let a waiting job start now. Each change is simulated in a copy of the engine
// before it is reported, and is as small as possible of its kind. If no single change helps, two
// changes are tried together.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/explanation/change_facts.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/whatif/evicted.hpp"
#include "scheduler/whatif/go_on.hpp"

namespace gpuctl::whatif {

// Kinds of changes in the order of reports: changes by the job's owner alone come first.
enum class ChangeKind : std::uint8_t {
    fewer_gpus,        // amount: GPUs per pod
    fewer_ranks,       // amount: ranks of the gang
    shorter_run_time,  // amount: run-time limit in seconds
    other_queue,       // subject: a queue of its pool
    other_pool,        // subject: a pool
    higher_limits,     // limits of queues and namespaces, each as far as the job needs
    jobs_move,         // amount: jobs that move to other nodes of the pool (docs/adr/0023)
    job_ends,    // subject: namespace/name of the job whose end is sufficient; amount: its GPUs
    more_nodes,  // subject: the node that the new nodes are copies of; amount: number of nodes
    two_changes  // its parts are applied together
};
BOOST_DESCRIBE_ENUM(ChangeKind, fewer_gpus, fewer_ranks, shorter_run_time, other_queue, other_pool,
                    higher_limits, jobs_move, job_ends, more_nodes, two_changes)

struct MovedPod {
    std::string name;
    std::string from;  // present node
    std::string to;    // node after the move
    friend auto operator<=>(const MovedPod&, const MovedPod&) = default;
};
// A running job that is stopped and started again once the waiting job runs.
struct MovedJob {
    ObjectKey key;
    bool is_submitted = false;  // submitted to gpuctl
    GpuMilli gpus;
    std::int64_t lost_gpu_ms = 0;  // work that is lost
    std::vector<MovedPod> pods;
    friend auto operator<=>(const MovedJob&, const MovedJob&) = default;
};

struct Remedy {
    ChangeKind kind{};
    std::string subject;
    std::int64_t amount = 0;
    ChangeEffect facts;  // for the sentence
    // For jobs_move: these jobs are stopped together and started again in this order.
    std::vector<MovedJob> moves = {};
    // For higher_limits: the level of each blocking limit, see limits_in_way().
    std::vector<std::int64_t> levels = {};
    std::vector<EvictedJob> stops = {};  // for this job, or for other jobs that the change starts
    std::vector<Remedy> parts = {};      // parts of two_changes
};

struct Remedies {
    std::vector<Remedy> found;  // at most one of each kind; two_changes if no single change helps
    std::vector<ChangeKind> tried;  // kinds of which at least one change was simulated or searched
    // The limit of trials or time was reached, so there may be other changes and smaller ones.
    bool ended_early = false;
};

// `exported`: Engine::export_state() of the engine that has the job. Nothing is tried if the job
// does not wait. There are at most 200 trials, each in a copy of the state. Errors: JournalDamaged.
Result<Remedies> find_remedies(std::string_view exported, const ObjectKey& job, Instant now,
                               GoOn go_on = {});

}  // namespace gpuctl::whatif
