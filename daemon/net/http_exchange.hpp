#pragma once
// One request and its answer on one connection. Private to net/.

#include <memory>
#include <optional>
#include <string>

#include "daemon/aio/deadline.hpp"
#include "daemon/aio/task.hpp"
#include "daemon/net/byte_stream.hpp"
#include "daemon/net/http_types.hpp"
#include "daemon/net/read_buffer.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::net {

struct HttpConnection {
    explicit HttpConnection(std::unique_ptr<ByteStream> open) : stream(std::move(open)) {}

    std::unique_ptr<ByteStream> stream;
    ReadBuffer buffer{32u << 10};  // a response header must fit
    std::string outgoing;          // kept for its capacity
    std::uint64_t generation = 0;  // of the TLS settings it was opened with
    aio::Clock::time_point idle_since;
    std::shared_ptr<void> counted;  // while it lives, the pool's figures count it
};

struct Exchange {
    std::optional<Error> failure;
    HttpResponse response;
    std::size_t bytes_sent = 0;
    bool answer_begun = false;  // a byte of the answer came
    bool peer_gone = false;     // failed because the peer closed or reset, not by time
    bool reusable = false;
};

aio::Task<Exchange> run_exchange(HttpConnection& connection, const HttpRequest& request,
                                 const std::string& host, std::size_t response_bytes_max,
                                 aio::Deadline deadline);

}  // namespace gpuctl::net
