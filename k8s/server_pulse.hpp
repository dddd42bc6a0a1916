#pragma once
// Knows whether the API server answers: silence means something only when somebody asks. Asks
// /readyz when nothing else was answered for a while, and says when the server is back, so that
// those who back off from its absence need not wait theirs out.
//
//   answering ──no answer for `silence_max`──> silent ──an answer below 500──> answering
//   (on_return)
//
// Thread: the loop's. Cancellation: through the TaskGroup that run() was spawned in.

#include <chrono>
#include <functional>
#include <string>

#include "daemon/aio/deadline.hpp"
#include "daemon/aio/task.hpp"
#include "k8s/client.hpp"

namespace gpuctl::k8s {

struct PulseSettings {
    std::chrono::milliseconds quiet{5'000};          // without an answer before it asks by itself
    std::chrono::milliseconds between_beats{1'000};  // while the server is away
    std::chrono::milliseconds patience{5'000};       // for one answer
    std::chrono::milliseconds silence_max{15'000};   // without an answer: not answering
};

class ServerPulse {
public:
    // `client` outlives run().
    ServerPulse(Client& client, PulseSettings settings, std::function<void()> on_return);

    // Until cancelled.
    aio::Task<void> run();

    [[nodiscard]] bool ever_answered() const;
    [[nodiscard]] bool answering() const;
    [[nodiscard]] std::chrono::seconds silent_for() const;
    // Why the last beat failed; empty after one that did not.
    [[nodiscard]] const std::string& last_error() const { return last_error_; }

private:
    [[nodiscard]] std::chrono::milliseconds next_look() const;
    void take(const ApiResult<ApiResponse>& answer);

    Client& client_;
    PulseSettings settings_;
    std::function<void()> on_return_;
    bool away_ = false;  // the last beat failed
    std::string last_error_;
};

}  // namespace gpuctl::k8s
