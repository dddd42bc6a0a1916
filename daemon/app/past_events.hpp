#pragma once
// The events of jobs before a restart: the journal's past replayed on another thread, so that
// neither the start nor the engine waits for it.

#include <atomic>
#include <memory>
#include <string>

#include "aio/loop.hpp"
#include "aio/task.hpp"
#include "daemon/core/engine_loop.hpp"

namespace gpuctl::app {

// Reads at most a day before `until`, the start of this process, for at most a minute. An error
// costs the events of that time and nothing else.
aio::Task<void> add_past_events(aio::Loop& loop, core::EngineLoop& engine, std::string directory,
                                Instant until, std::shared_ptr<std::atomic<bool>> stop);

}  // namespace gpuctl::app
