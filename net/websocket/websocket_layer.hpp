#pragma once
// ByteStream as the stream that Beast's WebSocket reads and writes. Private to net/.
//
// Handlers are erased here, so that ByteStream stays free of templates. Lifetime: operations in
// flight hold the shared state; closing the stream ends them.

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/transport/byte_stream.hpp"

namespace gpuctl::net {

class WebSocketLayer {
public:
    using executor_type = aio::Executor;
    using error_code = boost::system::error_code;
    using Done = std::function<void(error_code, std::size_t)>;

    WebSocketLayer(aio::Executor executor, std::unique_ptr<ByteStream> stream, std::string early)
        : state_(std::make_shared<State>(executor, std::move(stream), std::move(early))) {}

    executor_type get_executor() const { return state_->executor; }
    void close() { state_->stream->close(); }
    void shutdown() { state_->stream->shutdown_write(); }

    template <typename Buffers, typename Handler>
    auto async_read_some(const Buffers& buffers, Handler&& handler) {
        const auto initiate = [state = state_](auto&& inner, const Buffers& to) {
            const boost::asio::mutable_buffer first = first_of<boost::asio::mutable_buffer>(to);
            State::read(state, first, erase(std::forward<decltype(inner)>(inner)), true);
        };
        return boost::asio::async_initiate<Handler, void(error_code, std::size_t)>(
            initiate, handler, buffers);
    }

    template <typename Buffers, typename Handler>
    auto async_write_some(const Buffers& buffers, Handler&& handler) {
        const auto initiate = [state = state_](auto&& inner, const Buffers& from) {
            const boost::asio::const_buffer first = first_of<boost::asio::const_buffer>(from);
            State::write(state, first, erase(std::forward<decltype(inner)>(inner)), true);
        };
        return boost::asio::async_initiate<Handler, void(error_code, std::size_t)>(
            initiate, handler, buffers);
    }

private:
    struct State {
        aio::Executor executor;
        std::unique_ptr<ByteStream> stream;
        std::string early;

        State(aio::Executor on, std::unique_ptr<ByteStream> open, std::string bytes)
            : executor(on), stream(std::move(open)), early(std::move(bytes)) {}

        // `first_try`: still inside the initiating call, where a handler must not run.
        static void read(std::shared_ptr<State> self, boost::asio::mutable_buffer to, Done done,
                         bool first_try);
        static void write(std::shared_ptr<State> self, boost::asio::const_buffer from, Done done,
                          bool first_try);
        void complete(Done done, IoOutcome outcome, bool first_try);
    };

    template <typename Handler>
    static Done erase(Handler&& handler) {
        using Held = std::decay_t<Handler>;
        auto held = std::make_shared<Held>(std::forward<Handler>(handler));
        return [held](error_code failure, std::size_t bytes) {
            Held taken = std::move(*held);
            std::move(taken)(failure, bytes);
        };
    }

    template <typename Buffer, typename Buffers>
    static Buffer first_of(const Buffers& buffers) {
        const auto end = boost::asio::buffer_sequence_end(buffers);
        for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at) {
            const Buffer buffer = *at;
            if (buffer.size() > 0) return buffer;
        }
        return Buffer{};
    }

    std::shared_ptr<State> state_;
};

// Found by Beast through argument-dependent lookup.
inline void beast_close_socket(WebSocketLayer& layer) { layer.close(); }

inline void teardown(boost::beast::role_type, WebSocketLayer& layer,
                     boost::system::error_code& failure) {
    layer.shutdown();
    failure = {};
}

template <typename Handler>
void async_teardown(boost::beast::role_type, WebSocketLayer& layer, Handler&& handler) {
    layer.shutdown();
    boost::asio::post(layer.get_executor(), [held = std::forward<Handler>(handler)]() mutable {
        std::move(held)(boost::system::error_code{});
    });
}

}  // namespace gpuctl::net
