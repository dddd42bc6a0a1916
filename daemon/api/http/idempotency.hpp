#pragma once
// Idempotency-Key: the same key with the same request (target and body) gets the same answer, with
// another request 422. The key is journaled with its job, so that a client's retry after a restart
// creates no duplicate. Keys of deleted jobs are stored in memory only.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <variant>

#include "aio/deadline.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {
class ClusterState;
}

namespace gpuctl::api {

inline constexpr std::size_t kIdempotencyKeysMax = 10'000;
inline constexpr std::chrono::hours kIdempotencyKeptFor{24};

struct KeyIsNew {};
struct KeyInWork {};  // the first request with it is not answered yet
struct KeyRequestDiffers {};
struct KeyAnswered {
    std::string body;  // of the 201
};
struct KeyOfJob {  // known from the journal only: the answer is built again
    ObjectKey job;
};
using KeyState = std::variant<KeyIsNew, KeyInWork, KeyRequestDiffers, KeyAnswered, KeyOfJob>;

class IdempotencyKeys {
public:
    // After a restart: the keys of the jobs in the state.
    void recover(const ClusterState& state);

    // KeyIsNew reserves the key; then exactly one of answered() and released() follows.
    KeyState claim(const std::string& key, std::string_view request);
    void answered(const std::string& key, std::string answer);
    // The job may be stored although its creation was not confirmed in time.
    void unconfirmed(const std::string& key);
    void released(const std::string& key);
    void belongs_to(const std::string& key, const ObjectKey& job);

    // What JobRecord::idempotency_key holds: the key and the body it came with.
    [[nodiscard]] static std::string journal_form(const std::string& key, std::string_view request);

private:
    struct Entry {
        std::uint64_t request_hash = 0;
        std::string answer;
        ObjectKey job;
        bool in_work = false;
    };
    void forget_old();

    std::map<std::string, Entry> entries_;
    std::deque<std::pair<aio::Clock::time_point, std::string>> order_;
};

}  // namespace gpuctl::api
