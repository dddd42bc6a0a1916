#pragma once
// The template half of Loop: offload(). Included by loop.hpp.

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "aio/loop.hpp"  // IWYU pragma: keep

namespace gpuctl::aio {

// Runs work on another thread than the loop's.
using OffloadTo = std::function<void(std::function<void()> work)>;

// Runs `work` (which must not throw) on another thread and then resumes on the loop thread. Waits
// for the end of `work` even when cancelled, since it cannot be interrupted.
Task<void> run_elsewhere(Loop& loop, OffloadTo post, std::function<void()> work);

// An exception that leaves `work` is rethrown in the awaiting task.
template <typename T>
Task<T> offload_to(Loop& loop, OffloadTo post, std::function<T()> work) {
    struct Outcome {
        std::conditional_t<std::is_void_v<T>, bool, std::optional<T>> value{};
        std::exception_ptr thrown;
    };
    const auto outcome = std::make_shared<Outcome>();
    std::function<void()> guarded = [outcome, work = std::move(work)] {
        try {
            if constexpr (std::is_void_v<T>) {
                work();
            } else {
                outcome->value.emplace(work());
            }
        } catch (...) {
            outcome->thrown = std::current_exception();
        }
    };
    co_await run_elsewhere(loop, std::move(post), std::move(guarded));
    if (outcome->thrown) std::rethrow_exception(outcome->thrown);
    if constexpr (!std::is_void_v<T>) co_return std::move(*outcome->value);
}

template <typename T>
Task<T> offload(Loop& loop, std::function<T()> work) {
    const OffloadTo post = [&loop](std::function<void()> job) { loop.offload(std::move(job)); };
    return offload_to<T>(loop, post, std::move(work));
}

}  // namespace gpuctl::aio
