#pragma once
// HTTP/1.1 client for one origin: a pool of keep-alive connections with a bound on requests in
// flight, and streams (one connection each) for answers without an end: watches, followed logs.
//
// Thread: the loop's. Cancellation: through the caller's TaskGroup; an interrupted connection is
// closed, never reused. Every read is bounded by HttpClientSettings.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "net/http/http_types.hpp"
#include "net/transport/tls.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::aio {
class Loop;
}

namespace gpuctl::net {

struct HttpClientSettings {
    std::string host;  // as text::Url has it
    std::uint16_t port = 0;
    ClientTls tls;
    std::size_t in_flight_max = 32;    // further requests wait, within their deadline
    std::size_t waiting_max = 16'384;  // beyond: TooManyRequests at once
    std::size_t response_bytes_max = 64u << 20;
    std::chrono::seconds connect_timeout{10};
    std::chrono::seconds idle_close{
        75};  // below the 90 s after which API servers close idle connections
};

// An unary exchange's failure says whether the request may have reached the server:
//   Unreachable, TlsFailed, TooManyRequests, BadRequest, Cancelled, Timeout: certainly not
//   processed UnknownOutcome: sent (at least partly) without a complete answer: read the object
//   back
class HttpClient {
public:
    HttpClient(aio::Loop& loop, HttpClientSettings settings);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    // A GET that fails on a reused, dead connection is sent once more on a fresh one; this layer
    // sends nothing else twice.
    aio::Task<Result<HttpResponse>> request(HttpRequest request, aio::Deadline deadline);

    // A response whose body is read piece by piece. `status`/`fields` are in; an error status is
    // returned with its (bounded) body in `error_body`.
    class Stream {
    public:
        virtual ~Stream() = default;
        [[nodiscard]] virtual int status() const = 0;
        [[nodiscard]] virtual const HttpFields& fields() const = 0;
        [[nodiscard]] virtual const std::string& error_body() const = 0;
        // Appends what has arrived (at least a byte) to `out`; false at the end of the body.
        // Timeout when nothing came before the deadline: the stream stays usable.
        virtual aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) = 0;
    };
    aio::Task<Result<std::unique_ptr<Stream>>> open_stream(HttpRequest request,
                                                           aio::Deadline deadline);

    // Closes idle connections; those in use close when done. For rotated credentials.
    void replace_tls(ClientTls tls);

    struct Figures {
        std::size_t in_flight = 0;
        std::size_t waiting = 0;
        std::size_t connections = 0;
        std::uint64_t connections_opened = 0;
    };
    [[nodiscard]] Figures figures() const;

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::net
