#pragma once
// Client and server of a read load, each in a process of its own, for tools/bench-bind.

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuctl::bench {

struct LoadOptions {
    std::uint16_t port = 0;
    std::string target;
    std::uint64_t pages = 1;  // if the target is a list: one of this many pages, chosen at random
    double per_second = 1'000;
    std::size_t connections = 8;
};
// Waits for the server, reads until SIGTERM, then prints the results.
int load_until_stopped(const LoadOptions& options);

// A server that answers every request with `bytes` bytes until it is killed.
int serve_fixed_answers(std::uint16_t port, std::size_t bytes);

}  // namespace gpuctl::bench
