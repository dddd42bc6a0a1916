#pragma once
// What is decided and known about the size of an elastic job (sizes.cpp, ADR 0017).

#include <boost/describe.hpp>
#include <cstdint>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"

namespace gpuctl {

// The number of ranks of an elastic job (ADR 0017). `wanted` is the only decision; the other fields
// serve to send it to the job's controller.
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
    std::int32_t size = 0;  // of its workload, as far as known; 0: it is not elastic
    std::int32_t wanted = 0;
    std::int32_t before = 0;         // the size before, while the watch may still show it
    std::int32_t sent = 0;           // the size sent last, without an answer; 0: none
    std::int32_t offered = 0;        // ranks above its minimum that waiting jobs may get
    std::int32_t deferred_from = 0;  // ranks from this one on wait for room; 0: none do
    bool in_flight = false;
    EffectId effect{};
    std::int32_t failures = 0;  // consecutive
    Instant not_before;         // when it may be sent again
    Instant grow_from;          // it does not grow before: its size changed recently
    Instant give_from;  // it gives no ranks to a job that gains more before: it grew recently
    CauseBox why;       // of the last change
    // Of the current change: the ranks that hold resources and are removed by it.
    std::int32_t given = 0;
    EvictionCause given_for = EvictionCause::shrunk;
    // Of a job that states its speed by size (pace.cpp).
    Duration done;       // completed work up to `paced_from`, as run time with its fewest ranks
    Instant paced_from;  // it has run with `paced_ranks` since then
    std::int32_t paced_ranks = 0;

    // Only these and the part ElasticJobs interpret the fields. A resize without an answer may have
    // been carried out: it is sent again, and the answer shows the size.
    [[nodiscard]] ElasticPhase phase() const {
        if (size == 0) return ElasticPhase::rigid;
        if (in_flight) return ElasticPhase::in_flight;
        return wanted == size && sent == 0 ? ElasticPhase::settled : ElasticPhase::due;
    }
    [[nodiscard]] bool exists() const { return phase() != ElasticPhase::rigid; }
    // Its controller refused a change, or did not carry it out: no other change is requested until
    // then.
    [[nodiscard]] bool is_paused(Instant now) const { return not_before > now; }
};
BOOST_DESCRIBE_STRUCT(ElasticRow, (),
                      (size, wanted, before, sent, offered, deferred_from, in_flight, effect,
                       failures, not_before, grow_from, give_from, why, given, given_for, done,
                       paced_from, paced_ranks))

// The present ranks of an elastic job.
struct ElasticRanks {
    std::int32_t there = 0;   // bound or succeeded, counted from the first up to a gap
    bool is_settled = false;  // no rank is in transition: its size may change
    bool is_ending = false;   // a rank has succeeded
    bool has_surplus = false;
};

}  // namespace gpuctl
