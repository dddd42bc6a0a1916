#pragma once
// What the engine holds about a pod.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// The state of a pod from its first observation until it holds a node. The pod counts on a node
// (and, if it is ours, in its queue and namespace) in `assumed`, `bound`, `nominated`, and in
// `foreign` with a node.
//
//                 observed without a node
//        (new) ──────────────────────────────> waiting <─────────────┐
//          │                                     │                   │ not bound for sure:
//          │ not ours                     placed │ (BindPod)         │ outcome failed, refused,
//          v                                     v                   │ elsewhere, gone; gang
//       foreign                               assumed ───────────────┘ given up
//          │                                     │
//          │ terminal            outcome `bound` │ or observed with a node (which wins)
//          v                                     v
//        done <──────────────────────────────  bound
//                   observed terminal
//
// Removal ends every state. A terminating pod stays in its state and holds its resources until it
// is gone: containers run until the end of the grace period.
//
// A waiting pod is nominated while other pods are evicted for it. It counts on its node and in its
// queue, so that no other job takes the room. Then it returns to waiting, usually to be assumed
// there in the same step (nominations.cpp). Images store it under an older name (image.hpp).
//
// A seat is no pod of the cluster: it holds the room of a bound pod of a paused job after the pod
// is gone (seats.cpp, ADR 0043). It is removed when the room is released, or nominated for the pod
// that the resumed job has in its place.
enum class BindState : std::uint8_t { foreign, waiting, assumed, bound, done, nominated, seat };

// A bound pod that is to make room for another job.
//
//   none ──EvictPod──> asked ──accepted──> accepted ──> stops, and is gone
//    ^                 │   ^
//    │ refused         │   │ the backoff of its preemptor is over
//    │<────────────────┤   │
//    │ nomination over v   │
//    └──────────────── postponed     a disruption budget, or an error
enum class EvictionState : std::uint8_t { none, asked, postponed, accepted };

// Why a waiting pod of ours is not placed although it could be.
enum class PodBar : std::uint8_t {
    none,
    elsewhere,  // the API server has it on another node: the watch will show which
    gone,       // the API server does not know this pod any more
    refused     // the API server refused the bind; lifted after a pause, or when the pod changes
};

// A pod that holds resources and may be evicted. Each queue has a list of them, so that a search
// for the cheapest of a hundred thousand victims is one pass over dense rows.
struct StoppablePod {
    PodId pod;
    NodeId node;
    std::int32_t priority = 0;  // of its job
    bool is_gang = false;
    bool for_priority_only = false;  // its user does not allow preemption; its pool does
    GpuMilli gpus;
    Instant started_at;
    Duration checkpoint_interval;
    Duration restart_cost;
    friend bool operator==(const StoppablePod&, const StoppablePod&) = default;
};

// A pod that could not be evicted during a whole nomination is not tried again for this time.
// Otherwise pods that can be evicted would be stopped in vain over and over.
inline constexpr Duration kSparedFor = Duration::seconds(3600);

// A terminating pod is stuck this long after the end of its grace period.
inline constexpr Duration kLateToLeave = Duration::seconds(60);

struct BindRow {
    BindState state = BindState::waiting;
    PodBar bar = PodBar::none;
    bool in_flight = false;         // a BindPod without outcome
    bool delete_in_flight = false;  // a DeletePod without outcome
    EffectId effect{};
    Instant deadline;      // of the last BindPod
    Instant unsure_until;  // until then, an unanswered bind of an earlier term may succeed
    Instant placed_at;
    Instant barred_until;  // its bind was refused: it is not tried again before
};

struct EvictionRow {
    EvictionState state = EvictionState::none;
    EffectId effect{};
    ObjectKey preemptor;
    EvictionRequest request;
    std::vector<Instant> evicted_at;  // of the pods in this place, also earlier ones (churn.cpp)
    Instant spared_until;             // its eviction was refused: it is not tried again before
};

struct PodReport {
    bool start_reported = true;     // false from its placement until ReportStarted
    std::uint64_t fingerprint = 0;  // of the explanation that was reported last
};

// What the part Pods stores of a pod: its facts, its job and what it holds.
struct PodBase {
    NodeId node;  // the node that it holds; none while waiting or done
    ShapeId shape;
    JobId job;        // none: a foreign pod
    Instant seen_at;  // when it was first observed
    // when the grace period of a terminating pod ends; never: it is not terminating
    Instant leaves_at;
    std::string message;  // of the last outcome that was not a success
    PodFacts facts;
    std::int32_t gpu_device = kNoDevice;  // while it holds a fraction of a GPU
    bool grows_with_demand = false;  // while it holds resources: it may use the reserve of its pool
};

// Each struct is written by one part, which pod_table.hpp names.
struct PodRow : PodBase {
    static constexpr std::uint32_t kNotListed = UINT32_MAX;
    BindRow bind;
    EvictionRow eviction;
    PodReport report;
    // while it holds resources: its limit, or the end of its grace; never: unknown
    Instant ends_at;
    bool is_surplus = false;                  // a rank that its elastic job gives up
    std::uint32_t stoppable_at = kNotListed;  // its position in the `stoppable` of its queue

    // Terminating, or its eviction is under way.
    [[nodiscard]] bool is_terminating() const {
        return facts.terminating || is_surplus || eviction.state == EvictionState::accepted ||
               eviction.state == EvictionState::asked;
    }
    // Its grace period ended long ago: a finalizer, or a container that cannot be stopped. The time
    // of its end is unknown: no reservation counts on it, and no other pod is evicted to add to the
    // room that it would release.
    [[nodiscard]] bool is_stuck(Instant now) const {
        return leaves_at.happened() && leaves_at + kLateToLeave <= now;
    }
};

}  // namespace gpuctl
