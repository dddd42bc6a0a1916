#include "daemon/app/past_events.hpp"

#include <chrono>
#include <optional>

#include "aio/loop_offload.hpp"
#include "daemon/diagnostics/log.hpp"
#include "daemon/journal/past.hpp"

namespace gpuctl::app {
namespace {

constexpr Duration kPastRead = Duration::seconds(24 * 3'600);
constexpr std::chrono::seconds kReadingMax{60};

struct PastEvents {
    std::shared_ptr<core::History> history = std::make_shared<core::History>();
    Result<void> read;
};

PastEvents read_events(const std::string& directory, Instant until, const std::atomic<bool>& stop) {
    PastEvents past;
    std::optional<Engine> engine;
    EffectList effects;
    bool is_over = false;
    const auto deadline = std::chrono::steady_clock::now() + kReadingMax;
    journal::PastReader reader;
    reader.begin = [&](Engine begun) { engine.emplace(std::move(begun)); };
    reader.next = [&](const Input& input) {
        is_over = is_over || input.now >= until;
        if (is_over) return;
        effects.clear();
        engine->step(input, effects);
        past.history->on_input(input);
        for (const Effect& effect : effects) past.history->on_effect(effect, input.now);
    };
    reader.go_on = [&] { return !stop && !is_over && std::chrono::steady_clock::now() < deadline; };
    past.read = journal::read_past(directory, Instant{until.ms() - kPastRead.ms()}, reader);
    if (is_over) past.read = {};  // the rest is this process's own
    return past;
}

}  // namespace

aio::Task<void> add_past_events(aio::Loop& loop, core::EngineLoop& engine, std::string directory,
                                Instant until, std::shared_ptr<std::atomic<bool>> stop) {
    std::function<PastEvents()> read = [directory, until, stop] {
        return read_events(directory, until, *stop);
    };
    const PastEvents past = co_await aio::offload(loop, std::move(read));
    if (*stop) co_return;
    if (!past.read && past.read.error().code != ErrorCode::NotFound) {
        log::warn("events of jobs before the start are incomplete",
                  {{"err", past.read.error().message}});
    }
    engine.add_past(*past.history);
}

}  // namespace gpuctl::app
