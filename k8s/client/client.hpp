#pragma once
// Verbs of the Kubernetes API over path and body text, with deadline, retry class and error
// mapping. Four kinds of connection, so that no kind of traffic starves another:
//   unary  a keep-alive pool for reads, writes of objects, events
//   binds  a pool of its own, bounded in flight
//   lease  one connection, used for the lease only
//   stream one connection per watch or followed log
//
// Thread: the loop's. Outlives every task that calls it.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/auth/credentials.hpp"
#include "k8s/client/api_status.hpp"
#include "k8s/client/retry.hpp"
#include "net/websocket/websocket.hpp"
#include "scheduler/base/ids.hpp"

namespace gpuctl::k8s {

// The write fence: checked immediately before each sending of a fenced write, so that a deposed
// leader does not write. Implemented by LeaseKeeper.
class WriteFence {
public:
    virtual ~WriteFence() = default;
    [[nodiscard]] virtual bool may_write(Epoch epoch) const = 0;
};

enum class Lane : std::uint8_t { unary, binds, lease };

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kStrategicMergePatch = "application/strategic-merge-patch+json";
inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kJsonPatch = "application/json-patch+json";
inline constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

struct ApiCall {
    std::string method = "GET";
    std::string path;  // percent-encoded, with query: /api/v1/pods?limit=500
    std::string body;
    std::string_view content_type = kJson;  // of the body; a literal
    Lane lane = Lane::unary;
    RetryClass retry = RetryClass::never;
    // Set: the write is refused with NotLeader unless the fence is open for this epoch, and its
    // deadline is at most `write_timeout` after the check.
    std::optional<Epoch> fenced_by;
};

struct ApiResponse {
    int status = 200;
    std::string body;
};

struct ClientSettings {
    std::string user_agent = "gpuctld";
    std::size_t unary_in_flight_max = 16;
    std::size_t binds_in_flight_max = 64;
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds write_timeout{5'000};  // of fenced writes
    std::size_t response_bytes_max = 64u << 20;
    int attempts_max = 10;
    Backoff::Settings retry_backoff{std::chrono::milliseconds{100},
                                    std::chrono::milliseconds{5'000},
                                    std::chrono::milliseconds{30'000}};
    CredentialSettings credentials;
    std::uint64_t seed = 1;  // seeds the jitter
};

// gpuctld/<version> (linux/amd64) kubernetes/<commit7>, the form of Kubernetes' own components
std::string user_agent(std::string_view program, std::string_view version, std::string_view commit);

// Upper edges in milliseconds; one more bucket holds the rest.
inline constexpr std::array<std::uint32_t, 12> kLatencyEdgesMs{
    5, 10, 25, 50, 100, 250, 500, 1'000, 2'500, 5'000, 10'000, 30'000};

class Client {
public:
    static Result<std::unique_ptr<Client>> create(aio::Loop& loop, ClusterAccess access,
                                                  ClientSettings settings);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Without a fence every fenced write is refused. `fence` outlives the client or is replaced.
    void set_fence(const WriteFence* fence);

    aio::Task<ApiResult<ApiResponse>> call(ApiCall call, aio::Deadline deadline);

    // call() for the common cases.
    aio::Task<ApiResult<ApiResponse>> get(std::string path, aio::Deadline deadline);

    // A body without an end: watches, followed logs, and lists read incrementally. Never retried.
    class Stream {
    public:
        virtual ~Stream() = default;
        // Appends at least a byte to `out`; false at the end. Timeout leaves the stream usable.
        virtual aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) = 0;
    };
    aio::Task<ApiResult<std::unique_ptr<Stream>>> open_stream(std::string path,
                                                              aio::Deadline deadline);

    // A WebSocket of a subresource: pods/exec, pods/attach, pods/portforward. `protocols` as the
    // header lists them. Never repeated, but with renewed credentials.
    aio::Task<ApiResult<std::unique_ptr<net::WebSocket>>> open_websocket(std::string path,
                                                                         std::string protocols,
                                                                         aio::Deadline deadline);

    struct Latency {
        std::array<std::uint64_t, kLatencyEdgesMs.size() + 1> buckets{};
        std::uint64_t count = 0;
        double sum_seconds = 0;
    };
    struct Figures {
        std::string host;  // HOST:PORT of the API server
        // (verb, code) -> number; code 0: no answer
        std::map<std::pair<std::string, int>, std::uint64_t> requests;
        std::map<std::string, Latency> latency;  // by verb; streams: until the header came
        std::uint64_t retries = 0;
        std::uint64_t throttled = 0;  // 429 answers
        std::uint64_t unknown_outcomes = 0;
        std::uint64_t refused_by_fence = 0;
        std::size_t binds_in_flight = 0;
        std::size_t binds_waiting = 0;
        aio::Clock::time_point last_answer{};  // the epoch: none yet
        std::set<std::string> warnings;        // distinct Warning headers, 64 at most
    };
    [[nodiscard]] const Figures& figures() const;

private:
    struct Parts;
    explicit Client(std::shared_ptr<Parts> parts);
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::k8s
