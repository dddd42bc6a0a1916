#pragma once
// Health probe of the API server. Probes /readyz when no other request was answered for a while,
// and calls on_return when the server answers again, so that tasks in backoff retry at once.
//
//   answering ──no answer for `silence_max`──> silent ──an answer below 500──> answering
// (on_return)
//
// Thread: the loop's. Cancellation: through the TaskGroup that run() was spawned in.

#include <chrono>
#include <functional>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/client/client.hpp"

namespace gpuctl::k8s {

struct ProbeSettings {
    std::chrono::milliseconds quiet{5'000};           // without an answer before the first probe
    std::chrono::milliseconds probe_interval{1'000};  // between probes while the server is away
    std::chrono::milliseconds patience{5'000};        // for one answer
    std::chrono::milliseconds silence_max{15'000};    // without an answer: not answering
};

class ServerProbe {
public:
    // `client` outlives run().
    ServerProbe(Client& client, ProbeSettings settings, std::function<void()> on_return);

    // Until cancelled.
    aio::Task<void> run();

    [[nodiscard]] bool ever_answered() const;
    [[nodiscard]] bool answering() const;
    [[nodiscard]] std::chrono::seconds silent_for() const;
    // Why the last probe failed; empty after a success.
    [[nodiscard]] const std::string& last_error() const { return last_error_; }

private:
    [[nodiscard]] std::chrono::milliseconds next_look() const;
    void handle_answer(const ApiResult<ApiResponse>& answer);

    Client& client_;
    ProbeSettings settings_;
    std::function<void()> on_return_;
    bool away_ = false;  // the last probe failed
    std::string last_error_;
};

}  // namespace gpuctl::k8s
