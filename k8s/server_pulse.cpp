#include "k8s/server_pulse.hpp"

#include <algorithm>
#include <utility>

#include "daemon/aio/loop.hpp"

namespace gpuctl::k8s {

ServerPulse::ServerPulse(Client& client, PulseSettings settings, std::function<void()> on_return)
    : client_(client), settings_(settings), on_return_(std::move(on_return)) {}

bool ServerPulse::ever_answered() const {
    return client_.figures().last_answer != aio::Clock::time_point{};
}

std::chrono::seconds ServerPulse::silent_for() const {
    return std::chrono::duration_cast<std::chrono::seconds>(aio::Clock::now() -
                                                            client_.figures().last_answer);
}

bool ServerPulse::answering() const {
    return ever_answered() &&
           aio::Clock::now() - client_.figures().last_answer < settings_.silence_max;
}

std::chrono::milliseconds ServerPulse::next_look() const {
    if (away_) return settings_.between_beats;
    const auto heard = aio::Clock::now() - client_.figures().last_answer;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(settings_.quiet - heard);
    return std::max(left, settings_.between_beats);
}

// A refusal below 500 comes from a server that works; 500 is what one says that is still starting.
void ServerPulse::take(const ApiResult<ApiResponse>& answer) {
    const bool works =
        answer || (answer.error().http_status > 0 && answer.error().http_status < 500);
    if (!works) {
        away_ = true;
        last_error_ = answer.error().message;
        return;
    }
    last_error_.clear();
    if (std::exchange(away_, false)) on_return_();
}

aio::Task<void> ServerPulse::run() {
    for (;;) {
        const bool running = co_await aio::sleep_until(aio::Deadline::in(next_look()));
        if (!running) co_return;
        const bool heard_lately =
            ever_answered() && aio::Clock::now() - client_.figures().last_answer < settings_.quiet;
        if (heard_lately && !away_) continue;
        ApiCall beat;
        beat.path = "/readyz";
        ApiResult<ApiResponse> answer =
            co_await client_.call(std::move(beat), aio::Deadline::in(settings_.patience));
        if (!answer && answer.error().code == ErrorCode::Cancelled) co_return;
        take(answer);
    }
}

}  // namespace gpuctl::k8s
