#pragma once
// What is decided and known of the size of an elastic job (sizes.cpp, ADR 0017).

#include <boost/describe.hpp>
#include <cstdint>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// How many ranks an elastic job has (ADR 0017). `wanted` is the only decision; the rest is about
// telling the job's controller.
//
//   wanted == size ──grown, shrunk──> wanted != size ──ResizeWorkload──> in flight
//         ^                                ^   backoff │                     │
//         └────────────── resized ─────────┼───────────┴──── failed ─────────┤
//                                          └── other_size: `size` is that ───┤
//         wanted = size <───────────────────────────────────── refused ──────┘
inline constexpr std::int32_t kRanksMaximum = 1'000'000;
struct ElasticRow {
    std::int32_t size = 0;  // of its workload, as far as is known; 0: it is not elastic
    std::int32_t wanted = 0;
    std::int32_t before = 0;         // its size before that, while the watch may still show it
    std::int32_t sent = 0;           // what it was told and has not answered to; 0: nothing
    std::int32_t offered = 0;        // ranks above its minimum that those who wait know of
    std::int32_t deferred_from = 0;  // from this rank on they wait for who leaves; 0: none do
    bool in_flight = false;
    EffectId effect{};
    std::int32_t failures = 0;  // in a row
    Instant not_before;         // of telling again
    Instant grow_from;          // not before: it changed size lately
    Instant give_from;          // to who gains more, not before: it grew lately
    CauseBox why;               // of the last change
    // Of the change under way: ranks that hold and go by it.
    std::int32_t given = 0;
    EvictionCause given_for = EvictionCause::shrunk;
    // Of one that says how fast it is by size (pace.cpp).
    Duration done;       // of its work, in time with its fewest ranks, up to `paced_from`
    Instant paced_from;  // it has run with `paced_ranks` since
    std::int32_t paced_ranks = 0;
};
BOOST_DESCRIBE_STRUCT(ElasticRow, (),
                      (size, wanted, before, sent, offered, deferred_from, in_flight, effect,
                       failures, not_before, grow_from, give_from, why, given, given_for, done,
                       paced_from, paced_ranks))

// The ranks that an elastic job really has.
struct ElasticRanks {
    std::int32_t there = 0;   // bound or succeeded, from the first on without a gap
    bool is_settled = false;  // nothing of it is under way, it may change its size
    bool is_ending = false;   // one succeeded
    bool has_surplus = false;
};

}  // namespace gpuctl
