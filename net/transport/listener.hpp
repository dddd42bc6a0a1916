#pragma once
// A listening TCP socket.
//
// Thread: the loop's. Destroying it closes the socket.

#include <cstdint>
#include <memory>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "net/transport/byte_stream.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::net {

struct Listening {
    int descriptor = -1;
    std::uint16_t port = 0;
};

// InvalidConfiguration: the address is in use, unknown or not permitted. The caller owns the
// descriptor.
Result<Listening> listen_on(const std::string& address, std::uint16_t port);

class Listener {
public:
    // Port 0: any free one.
    static Result<std::unique_ptr<Listener>> open(aio::Loop& loop, const std::string& address,
                                                  std::uint16_t port);

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Timeout and Cancelled leave it usable.
    aio::Task<Result<std::unique_ptr<ByteStream>>> accept(aio::Deadline deadline);

private:
    Listener(aio::Loop& loop, Listening listening);

    aio::Loop& loop_;
    std::uint16_t port_;
    ByteStream socket_;
};

}  // namespace gpuctl::net
