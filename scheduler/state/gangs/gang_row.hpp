#pragma once
// The ranks of a gang as a whole (rounds_of_gangs.cpp, stranded.cpp).

#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/state/jobs/finished_ranks.hpp"

namespace gpuctl {

// The phase of a gang. It stays `forming` through rounds that are rolled back.
//
//   forming ──all ranks bound──> whole ──lacks ranks, waits for them──> short_of_ranks
//      ^                          ^ ^                                       │   │
//      │                          │ └─────────── ranks found ───────────────┘   │ repair deadline
//      │                          │                                             v
//      │                          └─────────────── ranks found ───────────── stranded
//      │                                                                        │
//      └──── settled ──── restarting <──── placed again, and no rank is left ───┘
//
// From each phase: no rank is left ──> forming.
enum class GangPhase : std::uint8_t { forming, whole, short_of_ranks, stranded, restarting };

// The round of ranks that were placed together and are being bound.
//
//   none ──placed, or found half bound──> open ──a rank cannot be bound──> refused
//    ^                                     │                                  │
//    └── whole, or undone at the deadline ─┴── whole without it, or undone ───┘
enum class GangRound : std::uint8_t { none, open, refused };

struct GangRow {
    std::int32_t attempt = 0;
    bool started = false;      // all its ranks were bound, and at least one has been since
    Instant short_since;       // it was whole and lacks ranks since then; or never
    bool is_stranded = false;  // it lacks ranks for longer than the policy allows
    FinishedRanks finished;    // succeeded ranks whose pods are gone
    Instant deadline;  // of the open round, or of the time that it may be half bound; else never
    bool member_refused = false;  // a rank of the open round cannot be bound
    // no rank has gone for the roll-back yet; a figure, not in images
    bool is_rolling_back = false;

    // What the fields mean; other code should ask for it.
    [[nodiscard]] GangPhase phase() const {
        if (is_stranded) return started ? GangPhase::stranded : GangPhase::restarting;
        if (!started) return GangPhase::forming;
        return short_since.happened() ? GangPhase::short_of_ranks : GangPhase::whole;
    }
    [[nodiscard]] GangRound round() const {
        if (member_refused) return GangRound::refused;
        return deadline.happened() ? GangRound::open : GangRound::none;
    }
};

// All ranks of the gang were bound together, and some of them still are.
constexpr bool has_started(GangPhase phase) {
    return phase == GangPhase::whole || phase == GangPhase::short_of_ranks ||
           phase == GangPhase::stranded;
}

// Jobs that fit on the room of this gang may take it.
constexpr bool yields(GangPhase phase) {
    return phase == GangPhase::stranded || phase == GangPhase::restarting;
}

}  // namespace gpuctl
