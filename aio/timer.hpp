#pragma once
// Asio's timer and completion token for our executor. For aio and net sources only.

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "aio/deadline.hpp"
#include "aio/task.hpp"

namespace gpuctl::aio {

using Timer = boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor>;
using UseTask = boost::asio::use_awaitable_t<Executor>;
inline constexpr UseTask kUseTask{};

}  // namespace gpuctl::aio
