#pragma once
// What the engine holds about a pod.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// The state of a pod between being seen and holding a node. It counts on a node (and, when it is
// ours, in its queue and namespace) in `assumed`, `bound`, `nominated`, and in `foreign` with a
// node.
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
// Removal ends every state. Terminating pods stay where they are: they hold until gone (S34).
//
// A waiting pod that other pods are evicted for is nominated meanwhile: it counts on its node and
// in its queue, so that no other job takes what they leave, and goes back to waiting, mostly to be
// assumed there in the same step (nominations.cpp). `nominated` is that state; images name it so.
enum class BindState : std::uint8_t { foreign, waiting, assumed, bound, done, nominated };

// A bound pod that is to make room for another job.
//
//   none ──EvictPod──> asked ──accepted──> accepted ──> stops, and is gone
//    ^                 │   ^
//    │ refused         │   │ the backoff of its beneficiary is over
//    │<────────────────┤   │
//    │ nomination over v   │
//    └──────────────── postponed     a disruption budget, or an error
enum class EvictionState : std::uint8_t { none, asked, postponed, accepted };

// Why a waiting pod of ours is left alone although it could be placed.
enum class PodBar : std::uint8_t {
    none,
    elsewhere,  // the API server has it on another node: the watch will say which
    gone,       // the API server does not know this incarnation any more
    refused     // the API server refused the bind; lifted after a pause, or when the pod changes
};

// A pod that holds something and may be evicted. Each queue has its own list, so that a search for
// the cheapest of a hundred thousand victims is one pass over dense rows.
struct StoppablePod {
    PodId pod;
    NodeId node;
    std::int32_t priority = 0;  // its job's
    bool is_gang = false;
    bool for_priority_only = false;  // its user does not say that it may be preempted
    GpuMilli gpus;
    Instant started_at;
    Duration checkpoint_interval;
    Duration restart_cost;
    friend bool operator==(const StoppablePod&, const StoppablePod&) = default;
};

// A pod that could not be evicted during a whole nomination is not asked again for this long:
// otherwise the pods that can be evicted would be stopped for nothing over and over.
inline constexpr Duration kSparedFor = Duration::seconds(3600);

// After the grace of a terminating pod.
inline constexpr Duration kLateToLeave = Duration::seconds(60);

struct BindRow {
    BindState state = BindState::waiting;
    PodBar bar = PodBar::none;
    bool in_flight = false;         // a BindPod without outcome
    bool delete_in_flight = false;  // a DeletePod without outcome
    EffectId effect{};
    Instant deadline;      // of the BindPod sent last
    Instant unsure_until;  // a bind of an earlier term that was never answered may land until then
    Instant placed_at;
    Instant barred_until;  // its bind was refused: not tried again before
};

struct EvictionRow {
    EvictionState state = EvictionState::none;
    EffectId effect{};
    ObjectKey preemptor;
    EvictionRequest request;
    std::vector<Instant> evicted_at;  // pods before it in its place (churn.cpp)
    Instant spared_until;             // its eviction was refused: not asked again before
};

struct PodReport {
    bool start_reported = true;     // false from being placed until ReportStarted
    std::uint64_t fingerprint = 0;  // of the explanation reported last
};

// What the part Pods keeps of a pod: its facts, its job and what it holds.
struct PodBase {
    NodeId node;  // held on, none while waiting or done
    ShapeId shape;
    JobId job;            // none for foreign pods
    Instant seen_at;      // first
    Instant leaves_at;    // it is terminating: when its grace is over; never: it is not
    std::string message;  // of the last outcome that was not a success
    PodFacts facts;
    std::int32_t gpu_device = kNoDevice;  // while it holds a part of a GPU
    bool grows_with_demand = false;       // while it holds: it may use its pool's reserve
};

// Each struct of it is written by one part, which pod_table.hpp names.
struct PodRow : PodBase {
    static constexpr std::uint32_t kNotListed = UINT32_MAX;
    BindRow bind;
    EvictionRow eviction;
    PodReport report;
    Instant ends_at;          // while it holds: by its limit, or when it leaves; never: unknown
    bool is_surplus = false;  // a rank that its elastic job is to have no more
    std::uint32_t stoppable_at = kNotListed;  // its place in its queue's `stoppable`

    // Terminating, or its eviction is under way.
    [[nodiscard]] bool is_terminating() const {
        return facts.terminating || is_surplus || eviction.state == EvictionState::accepted ||
               eviction.state == EvictionState::asked;
    }
    // Its grace was over long ago: a finalizer, or a container that cannot be stopped. When it will
    // be gone is unknown: no reservation counts on it, and no other pod is evicted to complete what
    // it would leave.
    [[nodiscard]] bool is_stuck(Instant now) const {
        return leaves_at.happened() && leaves_at + kLateToLeave <= now;
    }
};

}  // namespace gpuctl
