#pragma once
// The decisions of one planning cycle, in the order in which they were made (docs/adr/0037). Commit
// writes it, the Engine reads it: its figures count what is here. Ids and numbers only; the effects
// have the texts.
//
// Lifecycle, owner, thread: the Engine's; cleared for every cycle, so that its memory is reused.

#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct CyclePlan {
    // Why a pod is placed now.
    enum class PlacedFor : std::uint8_t {
        turn,       // its job was first in line
        growth,     // a rank of an elastic job beyond its minimum
        nomination  // the pods in its nominated room have terminated
    };
    struct Placed {
        JobId job;
        Placement at;
        PlacedFor why = PlacedFor::turn;
    };
    struct Evicted {
        PodId pod;
        JobId beneficiary;  // none: its node is drained, or its gang starts again elsewhere
        EvictionCause cause = EvictionCause::reclaimed;
    };
    struct Resized {
        JobId job;
        std::int32_t ranks = 0;
        EvictionCause cause = EvictionCause::shrunk;
    };
    struct Nominated {
        JobId job;
        std::size_t ranks = 0;
        std::size_t victims = 0;
    };
    enum class ReservedKind : std::uint8_t { nodes, quota };
    struct Reserved {
        PoolId pool;
        HeadReservation of;  // no job: the reservation is dropped
        ReservedKind kind = ReservedKind::nodes;
    };
    struct Refused {
        JobId job;
        ClassId of;  // all jobs of the class; none: the job alone, which cannot be tried at all
        Reason reason = Reason::none;
    };
    struct Reported {
        JobId job;
        Reason reason = Reason::none;
    };
    // What the decisions cost.
    struct Effort {
        std::uint64_t attempts = 0;              // jobs tried
        std::uint64_t known_refusals = 0;        // shapes known to find no room: not searched
        std::uint64_t reservation_searches = 0;  // through all running work of a pool
    };

    std::vector<Placed> placed;
    std::vector<Evicted> evicted;
    std::vector<Resized> resized;
    std::vector<Nominated> nominated;
    std::vector<Reserved> reserved;
    std::vector<Refused> refused;
    std::vector<Reported> reported;
    Effort effort;

    void clear();
};

}  // namespace gpuctl
