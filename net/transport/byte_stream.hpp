#pragma once
// A connected socket, plain or TLS behind one interface. Bytes are moved without waiting (try_read,
// try_write); waiting is separate and loses nothing when it times out or is cancelled, since no
// operation is in flight inside TLS: the wait is only for the socket. Private to net/.
//
// Thread: the loop's. One task may wait to read while another waits to write. Destroying the
// stream closes the socket.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "net/transport/tls_context.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::aio {
class Loop;
}

namespace gpuctl::net {

enum class Side : std::uint8_t { read, write };

enum class Wake : std::uint8_t { ready, timeout, cancelled };  // ready: try again (may be in vain)

struct IoOutcome {
    enum class State : std::uint8_t {
        moved,   // at least one byte moved
        again,   // not ready: wait(side)
        end,     // the peer closed its side in good order
        failed,  // last_failure() says why
    };
    State state;
    std::size_t bytes = 0;
};

class ByteStream {
public:
    ByteStream(aio::Executor executor, int descriptor);  // owns the (non-blocking) descriptor
    ~ByteStream();
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;

    // Both also return `again` when the turn of the loop took long already (aio::Turn::is_long()),
    // so that a peer which always has more bytes, or accepts all at once, does not block other
    // connections.
    IoOutcome try_read(char* to, std::size_t size);
    IoOutcome read_now(char* to, std::size_t size);  // regardless of how long the turn took
    IoOutcome try_write(const char* from, std::size_t size);
    // TLS may hold bytes that the socket does not show: waiting without trying to read first is
    // right only when this is false.
    [[nodiscard]] bool has_buffered() const;
    aio::Task<Wake> wait(Side side, aio::Deadline deadline);
    // The same for composed operations that are not coroutines: `then` runs once, on the loop,
    // never inside this call; after close() at the latest.
    void wait_then(Side side, std::function<void()> then);

    // Writes everything, or reports how far it got and why it stopped. `sent` counts bytes accepted
    // by the socket (or by TLS), which may have reached the peer.
    aio::Task<Result<void>> write_all(std::string_view bytes, std::size_t& sent,
                                      aio::Deadline deadline);

    void start_tls_client(std::shared_ptr<const TlsContext> context, const std::string& host);
    void start_tls_server(std::shared_ptr<const TlsContext> context);
    aio::Task<Result<void>> handshake(aio::Deadline deadline);

    // Wakes all waiting tasks; their next attempt decides.
    void interrupt();
    // Half-close: we send no more bytes; the peer's bytes can still be read.
    void shutdown_write();
    void close();
    [[nodiscard]] bool is_open() const;
    [[nodiscard]] int descriptor() const;
    [[nodiscard]] const std::string& last_failure() const;

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

// Connects to the first address of host:port that answers. Unreachable when none does in time.
aio::Task<Result<std::unique_ptr<ByteStream>>> connect_stream(aio::Loop& loop, std::string host,
                                                              std::uint16_t port,
                                                              aio::Deadline deadline);

// Keep-alive 30 s/10 s/3, TCP_USER_TIMEOUT 30 s, no delay: a peer that vanished is detected within
// a minute, not after the kernel's two hours.
void tune_socket(int descriptor);

}  // namespace gpuctl::net
