#pragma once
// Private to the engine loop's sources.

#include <optional>

#include "daemon/core/engine_loop.hpp"

namespace gpuctl::core {

// A submit or delete that waits for its answer. Shared by its coroutine, the mailbox and the sync
// callback; the last owner frees it.
struct EngineLoop::Waiter {
    explicit Waiter(aio::Loop& loop) : answered(loop) {}
    ObjectKey key;     // of a job
    std::string what;  // instead of a job, for messages
    bool needs_workload = false;
    bool is_change = false;  // of a job that exists
    bool on_disk = false;
    bool in_cluster = false;
    std::optional<Result<void>> outcome;
    aio::Signal answered;

    void answer(Result<void> result) {
        if (outcome) return;
        outcome = std::move(result);
        answered.notify_all();
    }
    void answer_if_complete() {
        if (on_disk && (in_cluster || !needs_workload)) answer({});
    }
};

}  // namespace gpuctl::core
