#include "daemon/app/health_log.hpp"

#include <chrono>

#include "aio/deadline.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/diagnostics/log.hpp"

namespace gpuctl::app {
namespace {

constexpr std::chrono::seconds kBetweenLooks{2};

}  // namespace

std::vector<ports::HealthLine> HealthChanges::since_last(
    const std::vector<ports::HealthLine>& lines) {
    std::vector<ports::HealthLine> changed;
    for (const ports::HealthLine& line : lines) {
        const std::string state =
            !line.ok ? "failed" : "ok" + (line.name == "lease" ? ": " + line.detail : "");
        const auto [entry, first] = reported_.try_emplace(line.name, "ok");
        if (std::exchange(entry->second, state) != state) changed.push_back(line);
    }
    return changed;
}

aio::Task<void> log_health_changes(const api::Services& services) {
    HealthChanges changes;
    for (;;) {
        // The first reading: a line that is not ready at the start is not logged.
        const bool running = co_await aio::sleep_until(aio::Deadline::in(kBetweenLooks));
        if (!running) co_return;
        for (const ports::HealthLine& line : changes.since_last(api::readiness(services))) {
            const auto write = line.ok ? &log::info : &log::warn;
            write("health", {{"check", line.name}, {"ok", line.ok}, {"detail", line.detail}},
                  log::Where::current());
        }
    }
}

}  // namespace gpuctl::app
