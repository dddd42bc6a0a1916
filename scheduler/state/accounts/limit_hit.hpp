#pragma once
// A limit that a job would cross with what it requests, and the figures. limits.hpp finds hits;
// limits/limit_table.hpp has the enumerators of LimitKind and all properties of each kind.

#include <cstdint>
#include <string_view>

#include "scheduler/base/ids.hpp"

namespace gpuctl {

enum class LimitKind : std::uint8_t;  // 0: none

struct LimitHit {
    LimitKind kind{};
    QueueId queue;  // whose limit it is; none: the pool's or the namespace's
    // In the unit of the limit. For a lending limit, `held` includes what is reserved for other
    // queues; for a budget, it is the used and the committed time.
    std::int64_t limit = 0;
    std::int64_t held = 0;
    std::int64_t needed = 0;
    std::string_view model = {};  // of a limit of one GPU model; valid as long as the policy
    // The job may not use this GPU model, but the pool has other models that it accepts.
    bool leaves_others = false;

    [[nodiscard]] bool exists() const { return kind != LimitKind{}; }
};

// True for a budget of GPU time: only a new period returns what was used.
bool is_budget(LimitKind kind);
// True for a limit of the pool, not of a queue or a namespace.
bool is_of_pools(LimitKind kind);
// True for a limit of a namespace over all pools together.
bool is_of_all_pools(LimitKind kind);

}  // namespace gpuctl
