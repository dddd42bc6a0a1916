#pragma once
// Task<T>: a coroutine on the event loop. Rules (docs/adr/0003): named functions, parameters by
// value (or references to things that outlive the TaskGroup), the awaited result stored in a named
// variable, no capturing lambdas, no co_await inside ?:, initialiser lists, argument lists or
// catch.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace gpuctl::aio {

using Executor = boost::asio::io_context::executor_type;

template <typename T>
using Task = boost::asio::awaitable<T, Executor>;

}  // namespace gpuctl::aio
