#pragma once
// The decisions of one planning cycle (docs/adr/0037): a list for each kind, in the order in which
// they were made. Commit writes it; Engine::last_plan() shows it until the next cycle. It holds ids
// and numbers only; the effects have the texts.
//
// The engine's figures count the placements, the refusals and the effort (EngineFigures::count).
// They count evictions and sizes when these have happened, not here, as a decision may come to
// nothing (OutcomeFigures). No program reads the other lists; tests of decisions do.
//
// Lifecycle, owner, thread: the Engine's. It is cleared for every cycle, so that its memory is
// reused.

#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct CyclePlan {
    // Why a pod is placed now.
    enum class PlacedFor : std::uint8_t {
        turn,       // its job was at the head of the line
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
        JobId preemptor;  // none: its node is drained, or its gang starts again elsewhere
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
        // the class whose jobs are refused; none: one job is refused, which cannot be tried at all
        ClassId of;
        Reason reason = Reason::none;
    };
    struct Reported {
        JobId job;
        Reason reason = Reason::none;
    };
    // The effort that the cycle needed.
    struct Effort {
        std::uint64_t attempts = 0;  // jobs tried
        // searches skipped because the shape was known to find no room
        std::uint64_t known_refusals = 0;
        std::uint64_t reservation_searches = 0;  // searches through all running work of a pool
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
