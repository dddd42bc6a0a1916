#pragma once
// A cheap HTTP client: keep-alive connections on one thread. Of an answer only the length is
// parsed. A request is sent as soon as the previous one is answered, or at a given rate.
//
// Thread: the caller's, which run() blocks.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuctl::bench {

struct LoadResult {
    std::uint64_t answers = 0;
    std::uint64_t refused = 0;  // answers other than 2xx
    std::uint64_t bytes = 0;    // of bodies
    double seconds = 0;
    // Latencies in milliseconds, sorted; with a rate, from the time at which the request was due.
    std::vector<double> latencies_ms;
    [[nodiscard]] double rate() const {
        return seconds > 0 ? static_cast<double>(answers) / seconds : 0;
    }
};

// The next request: header and body.
using NextRequest = std::function<std::string()>;
std::string get_request(const std::string& target);
std::string post_request(const std::string& target, const std::string& yaml);

struct Stream {
    NextRequest next;
    double per_second = 0;  // 0: as fast as answers come
    std::size_t connections = 8;
};

// Sends the streams for `length`, or until `stop`, and then waits for the open requests.
std::vector<LoadResult> run_load(std::uint16_t port, const std::vector<Stream>& streams,
                                 std::chrono::duration<double> length,
                                 const std::atomic<bool>* stop = nullptr);

// Open WebSockets whose messages are read and discarded.
class Followers {
public:
    Followers() = default;
    ~Followers();
    Followers(const Followers&) = delete;
    Followers& operator=(const Followers&) = delete;
    // False if the connection was not upgraded.
    bool open(std::uint16_t port, const std::string& target);
    [[nodiscard]] const std::vector<int>& sockets() const { return sockets_; }

private:
    std::vector<int> sockets_;
};
std::vector<LoadResult> run_load(std::uint16_t port, const std::vector<Stream>& streams,
                                 std::chrono::duration<double> length, const Followers& followers);

// Returns the body of a single request; "" if it failed.
std::string fetch(std::uint16_t port, const std::string& target, int& status);

}  // namespace gpuctl::bench
