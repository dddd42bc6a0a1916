#include "aio/loop.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "aio/timer.hpp"
#include "aio/turn_clock.hpp"

namespace gpuctl::aio {

namespace {

namespace asio = boost::asio;

// Resolver calls, exec plugins and journal syncs may each hold a thread for seconds.
constexpr std::size_t kPoolThreads = 4;

}  // namespace

struct Loop::Parts {
    // The hint says that only one thread runs the context; other threads may still post.
    asio::io_context context{1};
    asio::executor_work_guard<Executor> work{context.get_executor()};
    asio::thread_pool pool{kPoolThreads};  // destroyed, thus joined, before the context
    TurnObserver observer;
};

Loop::Loop() : parts_(std::make_unique<Parts>()) {}

Loop::~Loop() { parts_->pool.join(); }

void Loop::run() {
    asio::io_context& context = parts_->context;
    context.restart();
    TurnClock turns{[this](std::string_view work, Clock::duration took) {
        if (parts_->observer) parts_->observer(work, took);
    }};
    while (!context.stopped()) {
        turns.begin();
        if (context.poll_one() == 0) {
            turns.begin_behind_wait();
            if (context.run_one() == 0) continue;
        }
        turns.end();
    }
}

void Loop::observe_turns(TurnObserver observer) { parts_->observer = std::move(observer); }

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
    // A signal emitted before this wait began is not emitted again, so check the state first.
    const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) co_return false;
    const Executor executor = co_await asio::this_coro::executor;
    Timer timer{executor, at.at()};
    const auto [failure] = co_await timer.async_wait(asio::as_tuple(kUseTask));
    co_return !failure;
}

Task<void> next_turn() {
    const std::string_view work = Turn::work();
    const Executor executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, kUseTask);
    Turn::mark(work);
}

Task<void> run_elsewhere(Loop& loop, OffloadTo post, std::function<void()> work) {
    // Not cancellable: the caller's result lives in `work`, so its end must be awaited. Time spent
    // on the result counts for the turn that started the work.
    const std::string_view turn = Turn::work();
    const auto initiate = [&loop, &post, &work](auto handler) {
        post([work = std::move(work), context = &loop.context(),
              resume = std::make_shared<decltype(handler)>(std::move(handler))] {
            work();
            asio::post(*context, [resume] { std::move (*resume)(); });
        });
    };
    co_await asio::async_initiate<const UseTask, void()>(initiate, kUseTask);
    Turn::mark(turn);
}

}  // namespace gpuctl::aio
