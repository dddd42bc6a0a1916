#pragma once
// Logs that the API server refuses a kind of our writes, with the missing right or the denying
// policy from its answer. The first refusal is logged at once, repeats as a count.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "aio/deadline.hpp"
#include "k8s/client/api_status.hpp"

namespace gpuctl::k8s {

class RefusalNotice {
public:
    using Time = aio::Clock::time_point;
    // The reason, and the number of refusals since it was last logged.
    using Say = std::function<void(const std::string& why, std::uint64_t refused)>;

    explicit RefusalNotice(Say say) : say_(std::move(say)) {}

    // Other errors than refusals are reported elsewhere: unreachable server, lost leadership,
    // deleted pods. A namespace that is being deleted refuses everything, and the user need not
    // act.
    void record(const ApiError& error, Time now) {
        const bool is_refusal = error.code == ErrorCode::Forbidden ||
                                error.code == ErrorCode::BadRequest ||
                                error.code == ErrorCode::ValidationFailed;
        if (!is_refusal || error.is_namespace_terminating()) return;
        ++refused_;
        if (said_at_ && now - *said_at_ < kBetween) return;
        said_at_ = now;
        if (say_) say_(error.message, refused_);
        refused_ = 0;
    }

private:
    static constexpr std::chrono::seconds kBetween{60};

    Say say_;
    std::optional<Time> said_at_;
    std::uint64_t refused_ = 0;
};

}  // namespace gpuctl::k8s
