#pragma once
// The planner's decisions for ClusterState, and what the planner reads of a job first.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/gpu/devices.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"
#include "scheduler/state/gangs/gang_tally.hpp"

namespace gpuctl {

// One rank and its node, decided by the planner.
struct Placement {
    PodId pod;
    NodeId node;
    std::int32_t device = kNoDevice;  // for a part of a GPU
};

// Whether budgets of GPU time are checked before a round begins. Nominated room was granted by the
// budgets when it was nominated, and this grant stays valid, as for running jobs (ADR 0022).
enum class LetIn : std::uint8_t { now, when_nominated };

// A pod that is to be evicted for another job, and the cost.
struct Victim {
    PodId pod;
    std::int64_t lost_gpu_ms = 0;  // work that will be repeated
    CauseBox why = {};             // absent: the cause of the eviction applies
};

// How long room stays nominated for a job while victims terminate: the longest grace period, and a
// spare for the API server, the kubelet and the watch.
constexpr Duration kNominationSpare = Duration::seconds(60);
constexpr Duration nomination_lasts(Duration grace) { return grace + kNominationSpare; }

// What a job could place now, or the reason why nothing (readiness.cpp).
struct Readiness {
    bool waits = false;          // one of its pods waits
    Reason hold = Reason::none;  // none with pods: try them
    std::string subject;
    std::vector<PodId> pods;  // to place, by rank, then name
    bool all_or_nothing = false;
    std::int64_t ranks_needed = 0;  // at least this number of `pods`; only with all_or_nothing
    bool resume = false;            // part of the gang is bound: it comes before all new work
    std::int64_t ranks_min = 0;     // of the gang
    std::int64_t ranks_held = 0;    // bound, assumed or succeeded
    std::int64_t ranks_ready = 0;   // waiting and placeable
    std::int64_t ranks_gated = 0;
    // Roles of the gang that lack ranks: counted by held ranks, or by existing ranks while not all
    // exist.
    std::vector<RoleShort> roles_short;
    // Of an elastic job: ranks beyond those that it has. They are placed when no job waits that
    // could use the room, and are not among `pods`.
    std::vector<PodId> further;

    [[nodiscard]] bool can_be_tried() const { return hold == Reason::none && !pods.empty(); }
    // The number of ranks that start together.
    [[nodiscard]] std::int64_t ranks_at_once() const { return all_or_nothing ? ranks_needed : 1; }
};

}  // namespace gpuctl
