#pragma once
// Room that pods are evicted for: held by the job's nominated pods until all of it is free
// (nominations.cpp).

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"

namespace gpuctl {

// Whether evictions for it are under way.
//
//   none ──victims found──> evicting ──a disruption budget, an error──> postponed
//                            │  ^                                        │  │
//                            │  └───── backoff over: they are sent again ┘  │
//                            └──────── a victim stays ──> worthless <───────┘
//
// From each phase: the job is placed there, the time is over, or it is given up ──> none.
enum class NominationPhase : std::uint8_t { none, evicting, postponed, worthless };

struct NominationRow {
    Instant until;                       // then it is given up; never: no nomination
    std::int64_t pods = 0;               // nominated together; fewer are worth nothing
    std::vector<std::string> victims;    // uids
    bool victim_refused = false;         // one of them may not go: the nomination is worth nothing
    std::int32_t eviction_failures = 0;  // in a row
    Instant evict_again_at;              // the postponed ones

    // What the fields mean; other code should ask for it.
    [[nodiscard]] NominationPhase phase() const {
        if (!until.happened()) return NominationPhase::none;
        if (victim_refused) return NominationPhase::worthless;
        return evict_again_at.happened() ? NominationPhase::postponed : NominationPhase::evicting;
    }
    [[nodiscard]] bool exists() const { return phase() != NominationPhase::none; }
};

}  // namespace gpuctl
