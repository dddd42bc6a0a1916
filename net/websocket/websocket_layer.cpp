#include "net/websocket/websocket_layer.hpp"

#include <algorithm>
#include <cstring>

namespace gpuctl::net {

void WebSocketLayer::State::complete(Done done, IoOutcome outcome, bool first_try) {
    error_code failure;
    if (outcome.state == IoOutcome::State::end) failure = boost::asio::error::eof;
    if (outcome.state == IoOutcome::State::failed) {
        failure = boost::asio::error::connection_reset;
    }
    if (!first_try) return done(failure, outcome.bytes);
    boost::asio::post(executor, [done = std::move(done), failure, bytes = outcome.bytes] {
        done(failure, bytes);
    });
}

void WebSocketLayer::State::read(std::shared_ptr<State> self, boost::asio::mutable_buffer to,
                                 Done done, bool first_try) {
    IoOutcome outcome{IoOutcome::State::moved, 0};
    if (to.size() > 0 && !self->early.empty()) {
        outcome.bytes = std::min(to.size(), self->early.size());
        std::memcpy(to.data(), self->early.data(), outcome.bytes);
        self->early.erase(0, outcome.bytes);
    } else if (to.size() > 0) {
        outcome = self->stream->try_read(static_cast<char*>(to.data()), to.size());
    }
    if (outcome.state != IoOutcome::State::again) {
        return self->complete(std::move(done), outcome, first_try);
    }
    ByteStream& stream = *self->stream;
    stream.wait_then(Side::read, [self = std::move(self), to, done = std::move(done)] {
        read(self, to, done, false);
    });
}

void WebSocketLayer::State::write(std::shared_ptr<State> self, boost::asio::const_buffer from,
                                  Done done, bool first_try) {
    IoOutcome outcome{IoOutcome::State::moved, 0};
    if (from.size() > 0) {
        outcome = self->stream->try_write(static_cast<const char*>(from.data()), from.size());
    }
    if (outcome.state != IoOutcome::State::again) {
        return self->complete(std::move(done), outcome, first_try);
    }
    ByteStream& stream = *self->stream;
    stream.wait_then(Side::write, [self = std::move(self), from, done = std::move(done)] {
        write(self, from, done, false);
    });
}

}  // namespace gpuctl::net
