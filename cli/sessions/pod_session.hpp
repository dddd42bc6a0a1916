#pragma once
// A session with a pod through gpuctld.

#include <memory>
#include <string>
#include <vector>

#include "cli/connection.hpp"
#include "net/websocket/websocket.hpp"
#include "wire/session_frames.hpp"

namespace gpuctl::cli {

struct SessionWish {
    std::string route;  // exec, attach, portforward
    std::string job;    // or pod
    std::string pod;
    std::string container;
    std::vector<std::string> command;
    bool has_input = false;
    bool has_terminal = false;
    std::uint16_t port = 0;
};

// The address of the session, with its query.
std::string session_target(const SessionWish& wish, const std::string& namespace_name);

struct SessionPiece {
    wire::SessionChannel channel = wire::SessionChannel::output;
    std::string bytes;
};

class PodSession {
public:
    static aio::Task<Result<std::shared_ptr<PodSession>>> open(Connection& connection,
                                                               SessionWish wish);
    explicit PodSession(std::unique_ptr<net::WebSocket> socket) : socket_(std::move(socket)) {}

    // Waits while the pod accepts no more.
    aio::Task<Result<void>> send(wire::SessionChannel channel, std::string bytes);
    // The next output, or the outcome, which is the last one.
    aio::Task<Result<SessionPiece>> next();
    aio::Task<void> close();

private:
    std::unique_ptr<net::WebSocket> socket_;
};

// Reports it; the exit code of a session that failed: 2 is for command lines, which were right.
int session_exit_code(const Error& failed);

// Runs a command without a terminal and without input, to its end.
struct ShortRun {
    std::int32_t exit_code = 0;
    std::string errors;  // what it wrote to its standard error, the first bytes
};
aio::Task<Result<ShortRun>> run_shortly(Connection& connection, SessionWish wish);

}  // namespace gpuctl::cli
