#include "k8s/cluster/server_probe.hpp"

#include <algorithm>
#include <utility>

#include "aio/loop.hpp"

namespace gpuctl::k8s {

ServerProbe::ServerProbe(Client& client, ProbeSettings settings, std::function<void()> on_return)
    : client_(client), settings_(settings), on_return_(std::move(on_return)) {}

bool ServerProbe::ever_answered() const {
    return client_.figures().last_answer != aio::Clock::time_point{};
}

std::chrono::seconds ServerProbe::silent_for() const {
    return std::chrono::duration_cast<std::chrono::seconds>(aio::Clock::now() -
                                                            client_.figures().last_answer);
}

bool ServerProbe::answering() const {
    return ever_answered() &&
           aio::Clock::now() - client_.figures().last_answer < settings_.silence_max;
}

std::chrono::milliseconds ServerProbe::next_look() const {
    if (away_) return settings_.probe_interval;
    const auto heard = aio::Clock::now() - client_.figures().last_answer;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(settings_.quiet - heard);
    return std::max(left, settings_.probe_interval);
}

// A refusal below 500 comes from a working server; a starting server answers 500.
void ServerProbe::handle_answer(const ApiResult<ApiResponse>& answer) {
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

aio::Task<void> ServerProbe::run() {
    for (;;) {
        const bool running = co_await aio::sleep_until(aio::Deadline::in(next_look()));
        if (!running) co_return;
        const bool answered_recently =
            ever_answered() && aio::Clock::now() - client_.figures().last_answer < settings_.quiet;
        if (answered_recently && !away_) continue;
        ApiCall probe;
        probe.path = "/readyz";
        ApiResult<ApiResponse> answer =
            co_await client_.call(std::move(probe), aio::Deadline::in(settings_.patience));
        if (!answer && answer.error().code == ErrorCode::Cancelled) co_return;
        handle_answer(answer);
    }
}

}  // namespace gpuctl::k8s
