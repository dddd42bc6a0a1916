#include <charconv>
#include <iostream>
#include <utility>

#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "cli/commands/commands.hpp"
#include "cli/sessions/commands.hpp"
#include "cli/sessions/pod_session.hpp"
#include "net/transport/listener.hpp"

namespace gpuctl::cli {
namespace {

// Further ones wait in the listener until one of these has ended.
// gpuctld counts a session for a second or two after its end: the 32 sessions of a caller
// (expert.server.sessionsPerCallerMax) must suffice for those, too.
constexpr std::size_t kConnectionsMax = 12;
constexpr std::chrono::hours kQuietMax{1};
constexpr std::chrono::seconds kAcceptSlice{1};
// The protocol cannot end one direction. After the end of the program's side, a pod that sends
// nothing for so long has answered everything; it must learn that the connection is over. The first
// is for a pod that has sent something since the program's last byte.
constexpr std::chrono::milliseconds kMoreOfAnAnswer{500};
constexpr std::chrono::seconds kLastAnswer{5};

struct Forward {
    Connection& connection;
    PortForwardOptions options;
    aio::TaskGroup tasks;
    aio::Signal closed;  // one of `open`
    std::size_t open = 0;
    std::optional<Error> failed;
};

// One local connection with its own session.
struct Forwarded {
    std::shared_ptr<PodSession> session;
    std::unique_ptr<net::ByteStream> local;
    std::uint64_t pieces = 0;  // from the pod
    bool answered = true;      // since the last byte that was sent to it
    bool over = false;         // on purpose, or both directions
};

// Counted as open as long as it lives.
class ForwardedOne {
public:
    explicit ForwardedOne(std::shared_ptr<Forward> forward) : forward_(std::move(forward)) {}
    ~ForwardedOne() {
        --forward_->open;
        forward_->closed.notify_all();
    }
    ForwardedOne(const ForwardedOne&) = delete;
    ForwardedOne& operator=(const ForwardedOne&) = delete;

private:
    std::shared_ptr<Forward> forward_;
};

aio::Task<void> await_last_answer(std::shared_ptr<Forwarded> forwarded) {
    std::uint64_t before = forwarded->pieces + 1;
    while (!forwarded->over && before != forwarded->pieces) {
        before = forwarded->pieces;
        const aio::Deadline pause = forwarded->answered ? aio::Deadline::in(kMoreOfAnAnswer)
                                                        : aio::Deadline::in(kLastAnswer);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) co_return;
    }
}

// Until the program here closes its side or fails.
aio::Task<void> carry_to_pod(std::shared_ptr<Forwarded> forwarded) {
    using State = net::IoOutcome::State;
    for (;;) {
        std::string bytes(wire::kSessionPieceBytes, '\0');
        const net::IoOutcome outcome = forwarded->local->try_read(bytes.data(), bytes.size());
        if (outcome.state == State::again) {
            const aio::Deadline deadline = aio::Deadline::in(kQuietMax);
            const net::Wake wake = co_await forwarded->local->wait(net::Side::read, deadline);
            if (wake == net::Wake::ready) continue;
            break;
        }
        if (outcome.state == State::end) {
            co_await await_last_answer(forwarded);
            break;
        }
        if (outcome.state == State::failed) break;
        bytes.resize(outcome.bytes);
        forwarded->answered = false;
        Result<void> sent =
            co_await forwarded->session->send(wire::SessionChannel::input, std::move(bytes));
        if (!sent) co_return;  // carry_from_pod() learns why
    }
    if (std::exchange(forwarded->over, true)) co_return;
    co_await forwarded->session->close();
}

aio::Task<Result<void>> carry_from_pod(std::shared_ptr<Forwarded> forwarded) {
    for (;;) {
        Result<SessionPiece> piece = co_await forwarded->session->next();
        if (!piece && forwarded->over) co_return Result<void>{};
        if (!piece) co_return piece.error();
        ++forwarded->pieces;
        forwarded->answered = true;
        if (piece->channel == wire::SessionChannel::outcome) {
            const Result<std::int32_t> code = wire::read_session_outcome(piece->bytes);
            if (!code) co_return code.error();
            co_return Result<void>{};
        }
        std::size_t sent = 0;
        const aio::Deadline deadline = aio::Deadline::in(kQuietMax);
        Result<void> written = co_await forwarded->local->write_all(piece->bytes, sent, deadline);
        if (!written) co_return Result<void>{};  // the program here has gone
    }
}

aio::Task<void> forward_one(std::shared_ptr<Forward> forward,
                            std::unique_ptr<net::ByteStream> local, PortPair pair) {
    const ForwardedOne counted{forward};
    SessionWish wish;
    wish.route = "portforward";
    wish.job = forward->options.job;
    wish.pod = forward->options.pod;
    wish.port = pair.remote;
    Result<std::shared_ptr<PodSession>> session =
        co_await PodSession::open(forward->connection, std::move(wish));
    if (!session) {
        std::cerr << "gpuctl: connection to port " << pair.remote << ": "
                  << printable(session.error().message) << '\n';
        co_return;
    }
    const auto forwarded = std::make_shared<Forwarded>();
    forwarded->session = *session;
    forwarded->local = std::move(local);
    forward->tasks.spawn("to the pod", carry_to_pod(forwarded));
    Result<void> ended = co_await carry_from_pod(forwarded);
    const bool closes = !std::exchange(forwarded->over, true);
    if (!ended) {
        std::cerr << "gpuctl: connection to port " << pair.remote << ": "
                  << printable(ended.error().message) << '\n';
    }
    forwarded->local->shutdown_write();
    if (closes) co_await forwarded->session->close();
    forwarded->local->interrupt();
    forwarded->local->close();
}

aio::Task<void> accept_all(std::shared_ptr<Forward> forward,
                           std::unique_ptr<net::Listener> listener, PortPair pair) {
    for (;;) {
        const aio::Deadline slice = aio::Deadline::in(kAcceptSlice);
        if (forward->open >= kConnectionsMax) {
            const bool notified = co_await forward->closed.wait(slice);
            if (!notified && !slice.passed()) co_return;
            continue;
        }
        Result<std::unique_ptr<net::ByteStream>> local = co_await listener->accept(slice);
        if (!local && local.error().code == ErrorCode::Timeout) continue;
        if (!local) {
            forward->failed = local.error();
            co_return;
        }
        ++forward->open;
        forward->tasks.spawn("forwarded connection", forward_one(forward, std::move(*local), pair));
    }
}

Result<std::uint16_t> port_number(std::string_view text, const std::string& word) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error == std::errc{} && end == text.data() + text.size() && port > 0) return port;
    return make_error(ErrorCode::BadRequest,
                      word +
                          " is not a port; write LOCAL:REMOTE, PORT for the same here and "
                          "there, or :REMOTE for any free one here, each from 1 to 65535");
}

}  // namespace

Result<PortPair> port_pair(const std::string& word) {
    const std::size_t colon = word.find(':');
    const std::string_view text = word;
    const Result<std::uint16_t> remote =
        port_number(colon == std::string::npos ? text : text.substr(colon + 1), word);
    if (!remote) return remote.error();
    if (colon == std::string::npos) return PortPair{*remote, *remote};
    if (colon == 0) return PortPair{0, *remote};
    const Result<std::uint16_t> local = port_number(text.substr(0, colon), word);
    if (!local) return local.error();
    return PortPair{*local, *remote};
}

aio::Task<int> run_port_forward(Connection& connection, PortForwardOptions options) {
    std::vector<std::pair<std::unique_ptr<net::Listener>, PortPair>> listeners;
    for (const std::string& word : options.ports) {
        const Result<PortPair> pair = port_pair(word);
        if (!pair) {
            report(pair.error(), Format::table);
            co_return 2;
        }
        Result<std::unique_ptr<net::Listener>> listener =
            net::Listener::open(connection.loop(), options.address, pair->local);
        if (!listener) co_return report(listener.error(), Format::table);
        listeners.emplace_back(std::move(*listener), *pair);
    }
    // What gpuctld says about the pod, before the first connection.
    std::string target = "/api/v1/jobs/" + net::percent_encode(options.job) + "/portforward" +
                         query({{"namespace", connection.options().namespace_name},
                                {"pod", options.pod},
                                {"port", std::to_string(listeners.front().second.remote)}});
    Result<Reply> asked = co_await connection.get(std::move(target));
    if (!asked && asked.error().code != ErrorCode::UseWebSocket) {
        co_return report(asked.error(), Format::table);
    }
    const std::string address = options.address;
    const std::shared_ptr<Forward> forward{new Forward{connection,
                                                       std::move(options),
                                                       aio::TaskGroup{connection.loop()},
                                                       aio::Signal{connection.loop()},
                                                       0,
                                                       {}}};
    for (auto& [listener, pair] : listeners) {
        std::cout << "Forwarding from " << text::host_port(address, listener->port()) << " to port "
                  << pair.remote << std::endl;
        forward->tasks.spawn("listener", accept_all(forward, std::move(listener), pair));
    }
    while (!forward->failed) {
        const aio::Deadline pause = aio::Deadline::in(std::chrono::milliseconds{500});
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) break;
    }
    forward->tasks.cancel();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    co_await forward->tasks.join(deadline);
    co_return forward->failed ? report(*forward->failed, Format::table) : 0;
}

}  // namespace gpuctl::cli
