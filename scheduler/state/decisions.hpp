#pragma once
// What the planner hands to ClusterState, and what it reads of a job first.

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

// When budgets of GPU time are asked whether a round may begin. Room that was claimed was granted
// by them when it was: what they granted then holds, as for running jobs (ADR 0022).
enum class LetIn : std::uint8_t { now, when_nominated };

// One to be stopped for another job, and what that costs.
struct Victim {
    PodId pod;
    std::int64_t lost_gpu_ms = 0;  // work that will have to be done again
    CauseBox why = {};             // absent: as the cause of the eviction says
};

// How long room is kept for a job while others stop: as long as the slowest of them may take, and a
// while for the API server, the kubelet and the watch.
constexpr Duration kNominationSpare = Duration::seconds(60);
constexpr Duration nomination_lasts(Duration grace) { return grace + kNominationSpare; }

// What a job could have placed now, or why nothing (see readiness.cpp).
struct Readiness {
    bool waits = false;          // a pod of it waits
    Reason hold = Reason::none;  // none with pods: try them
    std::string subject;
    std::vector<PodId> pods;  // to place, by rank, then name
    bool all_or_nothing = false;
    std::int64_t ranks_needed = 0;  // of `pods`, at least so many; only with all_or_nothing
    bool resume = false;            // part of the gang is bound: comes before all new work
    std::int64_t ranks_min = 0;     // of the gang
    std::int64_t ranks_held = 0;    // bound, assumed or succeeded
    std::int64_t ranks_ready = 0;   // waiting and placeable
    std::int64_t ranks_gated = 0;
    // Of the gang: those that lack ranks, by what holds, or while not all exist by what is there.
    std::vector<RoleShort> roles_short;
    // Of an elastic job: ranks beyond all that it has. They are placed when no job waits that could
    // use the room, and are not among `pods`.
    std::vector<PodId> further;

    [[nodiscard]] bool can_be_tried() const { return hold == Reason::none && !pods.empty(); }
    // That start together at its turn.
    [[nodiscard]] std::int64_t ranks_at_once() const { return all_or_nothing ? ranks_needed : 1; }
};

}  // namespace gpuctl
