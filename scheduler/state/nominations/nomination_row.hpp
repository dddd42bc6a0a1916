#pragma once
// Room for which pods are evicted: held by the job's nominated pods until all of it is free
// (nominations.cpp).

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"

namespace gpuctl {

// The phase of the evictions for the job.
//
//   none ──victims found──> evicting ──a disruption budget, an error──> postponed
//                            │  ^                                        │  │
//                            │  └───── backoff over: they are sent again ┘  │
//                            └──────── a victim stays ──> worthless <───────┘
//
// From each phase: the job is placed there, the time is over, or it is given up ──> none.
enum class NominationPhase : std::uint8_t { none, evicting, postponed, worthless };

struct NominationRow {
    Instant until;                     // the nomination is withdrawn then; never: there is none
    std::int64_t pods = 0;             // nominated together; the nomination is of no use for fewer
    std::vector<std::string> victims;  // uids
    bool victim_refused = false;       // one of them cannot be evicted: the nomination is of no use
    std::int32_t eviction_failures = 0;  // consecutive
    Instant evict_again_at;              // when the postponed evictions are sent again

    // What the fields mean; other code should ask for it.
    [[nodiscard]] NominationPhase phase() const {
        if (!until.happened()) return NominationPhase::none;
        if (victim_refused) return NominationPhase::worthless;
        return evict_again_at.happened() ? NominationPhase::postponed : NominationPhase::evicting;
    }
    [[nodiscard]] bool exists() const { return phase() != NominationPhase::none; }
};

}  // namespace gpuctl
