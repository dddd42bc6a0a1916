#pragma once
// The ranks of a gang as a whole (rounds_of_gangs.cpp, stranded.cpp).

#include <cstdint>

#include "scheduler/base/time.hpp"
#include "scheduler/state/jobs/finished_ranks.hpp"

namespace gpuctl {

// How far the gang is. It stays `forming` through rounds that are rolled back.
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
    bool started = false;          // all its ranks were bound, and some have been since
    Instant short_since;           // it ran as a whole and lacks ranks since; or never
    bool is_stranded = false;      // for longer than the policy allows
    FinishedRanks finished;        // whose pods are gone
    Instant deadline;              // of the open round or of being half bound; else never
    bool member_refused = false;   // in the open round
    bool is_rolling_back = false;  // none of its pods is gone for it yet; a figure, not in images

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

// Jobs that fit on what it holds may have it.
constexpr bool yields(GangPhase phase) {
    return phase == GangPhase::stranded || phase == GangPhase::restarting;
}

}  // namespace gpuctl
