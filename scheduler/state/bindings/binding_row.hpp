#pragma once
// Failed and refused binds of a job (apply_outcomes.cpp).

#include <cstdint>

#include "scheduler/base/time.hpp"

namespace gpuctl {

// The pause after failed binds.
//
//   ready ──a bind failed──> backing_off ──`not_before` is over──> ready
//                              ^     │
//                              └─────┘ an unsure bind may land until then
enum class BindPhase : std::uint8_t { ready, backing_off };

// Binds of the job's pods that the API server refused (PodBar::refused).
//
//   none ──refused──> held ──the first pause is over──> due ──lifted──> none, or held by other pods
enum class RefusalPhase : std::uint8_t { none, held, due };

struct BindingRow {
    std::int32_t failures = 0;
    Instant not_before;
    Instant refusal_ends_at;  // the earliest `barred_until` of its pods; never: none is refused

    // What the fields mean; other code should ask for it.
    [[nodiscard]] BindPhase phase(Instant now) const {
        return not_before > now ? BindPhase::backing_off : BindPhase::ready;
    }
    [[nodiscard]] RefusalPhase refusals(Instant now) const {
        if (!refusal_ends_at.happened()) return RefusalPhase::none;
        return refusal_ends_at > now ? RefusalPhase::held : RefusalPhase::due;
    }
};

}  // namespace gpuctl
