#pragma once
// A limit that a job would cross if it held what it asks for, with its numbers. limits.hpp finds
// hits; limits/limit_table.hpp has the enumerators of LimitKind and all that is known of each.

#include <cstdint>
#include <string_view>

#include "scheduler/base/ids.hpp"

namespace gpuctl {

enum class LimitKind : std::uint8_t;  // 0: none

struct LimitHit {
    LimitKind kind{};
    QueueId queue;  // whose limit it is; none: the pool's or the namespace's
    // In the unit of the limit. `held` counts what is reserved for other queues where the limit is
    // a lending limit; of a budget it is what is used and committed.
    std::int64_t limit = 0;
    std::int64_t held = 0;
    std::int64_t needed = 0;
    std::string_view model = {};  // of limits of one GPU model; valid as long as the policy
    // The job may not use this GPU model, but the pool has other models that it accepts.
    bool leaves_others = false;

    [[nodiscard]] bool exists() const { return kind != LimitKind{}; }
};

// A budget of GPU time: only a new period gives back what was used of it.
bool is_budget(LimitKind kind);
// The pool's: no queue's and no namespace's.
bool is_of_pools(LimitKind kind);
// Of a namespace, over all pools together.
bool is_of_all_pools(LimitKind kind);

}  // namespace gpuctl
