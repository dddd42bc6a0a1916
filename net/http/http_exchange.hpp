#pragma once
// One request and its answer on one connection. Private to net/.

#include <memory>
#include <optional>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "net/http/http_types.hpp"
#include "net/http/read_buffer.hpp"
#include "net/transport/byte_stream.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::net {

struct HttpConnection {
    explicit HttpConnection(std::unique_ptr<ByteStream> open) : stream(std::move(open)) {}

    std::unique_ptr<ByteStream> stream;
    ReadBuffer buffer{32u << 10};  // a response header must fit
    std::string outgoing;          // kept for its capacity
    std::uint64_t generation = 0;  // the TLS settings it was opened with
    aio::Clock::time_point idle_since;
    std::shared_ptr<void> counted;  // counts the connection in the pool's figures
};

struct Exchange {
    std::optional<Error> failure;
    HttpResponse response;
    std::size_t bytes_sent = 0;
    bool answer_begun = false;  // a byte of the answer came
    bool peer_gone = false;     // the peer closed or reset the connection; not a timeout
    bool reusable = false;
};

aio::Task<Exchange> run_exchange(HttpConnection& connection, const HttpRequest& request,
                                 const std::string& host, std::size_t response_bytes_max,
                                 aio::Deadline deadline);

}  // namespace gpuctl::net
