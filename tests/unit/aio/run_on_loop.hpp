#pragma once
// Runs one task to its end on a fresh loop, as a test's body.

#include <utility>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"

namespace gpuctl::aio {

inline Task<void> then_stop(Loop& loop, Task<void> body) {
    co_await std::move(body);
    loop.stop();
}

inline void run_to_end(Loop& loop, Task<void> body) {
    TaskGroup group{loop};
    group.spawn("test body", then_stop(loop, std::move(body)));
    loop.run();
}

}  // namespace gpuctl::aio
