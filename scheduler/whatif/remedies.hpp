#pragma once
// What would let a waiting job start now: single changes, each tried in a copy of the engine before
// it is told, each as small as it can be of its kind.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::whatif {

// In the order in which they are told: what its owner can do alone comes first.
enum class ChangeKind : std::uint8_t {
    fewer_gpus,   // amount: GPUs a pod may ask for
    fewer_ranks,  // amount: ranks the gang may have
    other_queue,  // subject: that queue of its pool
    other_pool,   // subject: that pool
    job_ends,     // subject: namespace/name of a job whose end is enough; amount: its GPUs
    more_nodes    // subject: the node they are like; amount: so many more of them
};
BOOST_DESCRIBE_ENUM(ChangeKind, fewer_gpus, fewer_ranks, other_queue, other_pool, job_ends,
                    more_nodes)

struct Remedy {
    ChangeKind kind{};
    std::string subject;
    std::int64_t amount = 0;
    std::string sentence;  // "it would start now ..."
    friend auto operator<=>(const Remedy&, const Remedy&) = default;
};

// `exported`: Engine::export_state() of the engine that holds the job. At most one of each kind;
// empty when the job does not wait, or when no single change would do. At most 200 trials, each a
// copy of the state. Errors: JournalDamaged.
Result<std::vector<Remedy>> find_remedies(std::string_view exported, const ObjectKey& job,
                                          Instant now);

}  // namespace gpuctl::whatif
