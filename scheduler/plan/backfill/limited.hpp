#pragma once
// Whether a limit blocks a larger usage, independent of free room.

#include "scheduler/state/accounts/limits.hpp"

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

// True also if the limit of one GPU model is hit although other models are left: usage elsewhere
// may have to be released first.
inline bool is_limited_somewhere(const ClusterState& state, const JobRow& job, const Load& ask,
                                 const Relief* relief = nullptr) {
    bool is_hit = is_limited(state, job, ask, relief);
    visit_model_limits(state, job, ask, [&](const LimitHit&) { is_hit = true; }, relief);
    return is_hit;
}

}  // namespace gpuctl
