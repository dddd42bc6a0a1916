#pragma once
// Tells people that the API server refuses a kind of our writes. The answer names the right that is
// missing or the policy that denies; the first of them is news, ten thousand more are one number.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon/aio/deadline.hpp"
#include "k8s/api_status.hpp"

namespace gpuctl::k8s {

class RefusalNotice {
public:
    using Time = aio::Clock::time_point;
    // Why, and how many were refused since it was last said.
    using Say = std::function<void(const std::string& why, std::uint64_t refused)>;

    explicit RefusalNotice(Say say) : say_(std::move(say)) {}

    // Other errors than refusals are told elsewhere: silence, lost leadership, pods that are gone.
    // A namespace that is being deleted refuses everything, and nothing is to be done about it.
    void note(const ApiError& error, Time now) {
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
