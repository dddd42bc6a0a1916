#pragma once
// What is decided and known of the size of an elastic job (sizes.cpp, ADR 0017).

#include <boost/describe.hpp>
#include <cstdint>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// How many ranks an elastic job has (ADR 0017). `wanted` is the only decision; the rest is about
// sending it to the job's controller.
//
//   settled ──grown, shrunk──> due ──ResizeWorkload──> in_flight
//      ^                        ^                          │
//      │                        └── failed, another size, ─┤
//      │                            or a new term          │
//      └────────── resized, refused, workload gone ────────┘
enum class ElasticPhase : std::uint8_t {
    rigid,     // it has one size
    settled,   // its controller has this size
    due,       // a ResizeWorkload is to be sent, from `not_before` on
    in_flight  // a ResizeWorkload without outcome
};

inline constexpr std::int32_t kRanksMaximum = 1'000'000;
struct ElasticRow {
    std::int32_t size = 0;  // of its workload, as far as is known; 0: it is not elastic
    std::int32_t wanted = 0;
    std::int32_t before = 0;         // its size before that, while the watch may still show it
    std::int32_t sent = 0;           // the size sent last, without answer; 0: none
    std::int32_t offered = 0;        // ranks above its minimum that waiting jobs may get
    std::int32_t deferred_from = 0;  // ranks from this one on wait for room; 0: none do
    bool in_flight = false;
    EffectId effect{};
    std::int32_t failures = 0;  // in a row
    Instant not_before;         // of sending again
    Instant grow_from;          // not before: it changed size recently
    Instant give_from;          // to a job that gains more, not before: it grew recently
    CauseBox why;               // of the last change
    // Of the change under way: ranks that hold and go by it.
    std::int32_t given = 0;
    EvictionCause given_for = EvictionCause::shrunk;
    // Of one that says how fast it is by size (pace.cpp).
    Duration done;       // of its work, in time with its fewest ranks, up to `paced_from`
    Instant paced_from;  // it has run with `paced_ranks` since
    std::int32_t paced_ranks = 0;

    // What the fields mean; other code should ask for it. What was never answered may have been
    // carried out: its size is found out by sending it again.
    [[nodiscard]] ElasticPhase phase() const {
        if (size == 0) return ElasticPhase::rigid;
        if (in_flight) return ElasticPhase::in_flight;
        return wanted == size && sent == 0 ? ElasticPhase::settled : ElasticPhase::due;
    }
    [[nodiscard]] bool exists() const { return phase() != ElasticPhase::rigid; }
    // Its controller refused a change, or did not carry it out: it is not asked for another.
    [[nodiscard]] bool is_paused(Instant now) const { return not_before > now; }
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
