#include "daemon/aio/loop.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "daemon/aio/timer.hpp"

namespace gpuctl::aio {

namespace {

namespace asio = boost::asio;

// Resolver calls, exec plugins and journal syncs may each hold a thread for seconds.
constexpr std::size_t kPoolThreads = 4;

}  // namespace

struct Loop::Parts {
    // The hint says that only one thread runs the context; posting from others stays allowed.
    asio::io_context context{1};
    asio::executor_work_guard<Executor> work{context.get_executor()};
    asio::thread_pool pool{kPoolThreads};  // destroyed, thus joined, before the context
};

Loop::Loop() : parts_(std::make_unique<Parts>()) {}

Loop::~Loop() { parts_->pool.join(); }

void Loop::run() {
    parts_->context.restart();
    parts_->context.run();
}

void Loop::stop() { parts_->context.stop(); }

asio::io_context& Loop::context() { return parts_->context; }

Executor Loop::executor() { return parts_->context.get_executor(); }

bool Loop::on_loop_thread() const {
    return parts_->context.get_executor().running_in_this_thread();
}

void Loop::post(std::function<void()> work) { asio::post(parts_->context, std::move(work)); }

void Loop::offload(std::function<void()> work) { asio::post(parts_->pool, std::move(work)); }

std::int64_t Loop::wall_ms() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

Task<bool> sleep_until(Deadline at) {
    // A signal emitted before this wait began will not be emitted again: look first.
    const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) co_return false;
    const Executor executor = co_await asio::this_coro::executor;
    Timer timer{executor, at.at()};
    const auto [failure] = co_await timer.async_wait(asio::as_tuple(kUseTask));
    co_return !failure;
}

Task<void> run_on_pool(Loop& loop, std::function<void()> work) {
    // Not cancellable on purpose: the caller's result lives in `work`, so it is waited for.
    const auto initiate = [&loop, &work](auto handler) {
        loop.offload([work = std::move(work), context = &loop.context(),
                      resume = std::make_shared<decltype(handler)>(std::move(handler))] {
            work();
            asio::post(*context, [resume] { std::move (*resume)(); });
        });
    };
    co_await asio::async_initiate<const UseTask, void()>(initiate, kUseTask);
}

}  // namespace gpuctl::aio
