#pragma once
// Whether limits block a larger usage, independent of free room. With released usage: as if
// the pods that release it were gone.

#include <string_view>
#include <vector>

#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

// Limits of single GPU models are left out.
inline bool is_within_limits(const ClusterState& state, const JobRow& job, const Load& ask,
                             const ReleasedUsage* released) {
    bool within = true;
    visit_limits(state, job, ask, [&](const LimitHit&) { return within = false; }, released);
    return within;
}

// Adds the GPU models that its queues may not hold more of.
inline void add_barred_models(const ClusterState& state, const JobRow& job, const Load& ask,
                              const ReleasedUsage* released, std::vector<std::string_view>& out) {
    visit_model_limits(
        state, job, ask, [&](const LimitHit& hit) { out.push_back(hit.model); }, released);
}

inline bool is_limited(const ClusterState& state, const JobRow& job, const Load& ask,
                       const ReleasedUsage* released = nullptr) {
    bool is_hit = !is_within_limits(state, job, ask, released);
    visit_model_limits(
        state, job, ask, [&](const LimitHit& hit) { is_hit = is_hit || !hit.leaves_others; },
        released);
    return is_hit;
}

// True also if the limit of one GPU model is hit although other models are left: usage elsewhere
// may have to be released first.
inline bool is_limited_somewhere(const ClusterState& state, const JobRow& job, const Load& ask,
                                 const ReleasedUsage* released = nullptr) {
    bool is_hit = is_limited(state, job, ask, released);
    visit_model_limits(state, job, ask, [&](const LimitHit&) { is_hit = true; }, released);
    return is_hit;
}

}  // namespace gpuctl
