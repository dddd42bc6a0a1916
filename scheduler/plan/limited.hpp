#pragma once
// Whether any limit stands in the way of more, whatever room there is.

#include "scheduler/state/limits.hpp"

namespace gpuctl {

inline bool is_limited(const ClusterState& state, const JobRow& job, const Load& ask,
                       const Relief* relief = nullptr) {
    bool is_hit = false;
    visit_limits(state, job, ask, [&](const LimitHit&) { return !(is_hit = true); }, relief);
    visit_model_limits(
        state, job, ask, [&](const LimitHit& hit) { is_hit = is_hit || !hit.leaves_others; },
        relief);
    return is_hit;
}

// Likewise, or kept off some GPU model: others elsewhere may have to go before it may be there.
inline bool is_limited_somewhere(const ClusterState& state, const JobRow& job, const Load& ask,
                                 const Relief* relief = nullptr) {
    bool is_hit = is_limited(state, job, ask, relief);
    visit_model_limits(state, job, ask, [&](const LimitHit&) { is_hit = true; }, relief);
    return is_hit;
}

}  // namespace gpuctl
