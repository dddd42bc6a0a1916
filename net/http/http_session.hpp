#pragma once
// One accepted connection: request after request until either side closes it. Private to net/.
//
//   reading ──header complete──> working ──response written──> reading | closed
//                                   └────upgrade accepted────> upgraded ──> closed

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "net/http/http_server.hpp"
#include "net/http/read_buffer.hpp"
#include "net/transport/byte_stream.hpp"

namespace gpuctl::net {

class RequestParser;
class HttpSession;
class BeastWebSocket;

// What the sessions of one server share.
struct SessionsShared {
    aio::Loop& loop;
    HttpServerSettings settings;
    HttpHandler& handler;
    bool stopping = false;
    std::list<HttpSession*> sessions;
};

class HttpSession {
public:
    HttpSession(std::shared_ptr<SessionsShared> shared, std::unique_ptr<ByteStream> stream,
                std::string remote);
    ~HttpSession();
    HttpSession(const HttpSession&) = delete;
    HttpSession& operator=(const HttpSession&) = delete;

    aio::Task<void> run();
    // The server stops: ends at once unless a request is being processed.
    void stop();

private:
    enum class Phase : std::uint8_t { reading, working, upgraded };

    aio::Task<bool> serve_one();           // true: another request may follow
    aio::Task<std::size_t> read_header();  // 0: nothing to serve
    aio::Task<bool> serve(HttpRequest request, RequestParser& parser);
    aio::Task<bool> read_body(HttpRequest& request, RequestParser& parser, std::size_t bytes_max);
    aio::Task<HttpResponse> ask_handler(HttpRequest request);
    aio::Task<bool> upgrade(HttpRequest request);
    HeaderVerdict check_header(const HttpRequest& request);
    HttpResponse server_failed();
    aio::Task<bool> respond(HttpResponse response, bool head, bool close);
    aio::Task<void> refuse_with(int status, std::string code, std::string message, bool head);
    aio::Task<void> refuse(HttpResponse response, bool head);

    std::shared_ptr<SessionsShared> shared_;
    std::unique_ptr<ByteStream> stream_;
    std::string remote_;
    ReadBuffer buffer_;
    std::string outgoing_;
    Phase phase_ = Phase::reading;
    bool first_ = true;
    std::weak_ptr<BeastWebSocket> socket_;
    std::list<HttpSession*>::iterator place_;
};

// Shuts the connection down so that the peer can still read what was sent: closing a socket with
// unread bytes resets the connection and may discard our last answer.
aio::Task<void> close_gently(ByteStream& stream);

aio::Task<void> run_session(std::shared_ptr<SessionsShared> shared,
                            std::unique_ptr<ByteStream> stream, std::string remote);

}  // namespace gpuctl::net
