#pragma once
// Runs tasks of the code under test on a loop in the test's own thread.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "unit/k8s/client/scripted_server.hpp"

namespace gpuctl::k8s {

inline aio::Deadline soon() { return aio::Deadline::in(std::chrono::seconds{10}); }

template <typename T>
aio::Task<void> keep_result(aio::Loop& loop, aio::Task<T> task, std::optional<T>& result) {
    T value = co_await std::move(task);
    result.emplace(std::move(value));
    loop.stop();
}

inline aio::Task<bool> poll_until(std::function<bool()> condition, aio::Deadline deadline) {
    while (!condition()) {
        if (deadline.passed()) co_return false;
        (void)co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{2}));
    }
    co_return true;
}

class LoopTest : public ::testing::Test {
protected:
    ~LoopTest() override {
        group.cancel();
        const bool joined = run(group.join(soon()));
        if (!joined) {
            for (const std::string& name : group.left()) ADD_FAILURE() << "still runs: " << name;
        }
    }

    template <typename T>
    T run(aio::Task<T> task) {
        std::optional<T> result;
        aio::TaskGroup driver{loop};
        driver.spawn("test", keep_result(loop, std::move(task), result));
        loop.run();
        return std::move(*result);
    }
    // Runs the loop until the condition holds; false after ten seconds.
    bool wait_for(std::function<bool()> condition) {
        return run(poll_until(std::move(condition), soon()));
    }

    // A client of the scripted server, plain HTTP.
    std::unique_ptr<Client> client_of(const test_support::ScriptedServer& server,
                                      ClientSettings settings = {}) {
        ClusterAccess access;
        access.origin = "test";
        access.server = {false, "127.0.0.1", server.port(), ""};
        access.token = "secret";
        return client_of(access, settings);
    }
    std::unique_ptr<Client> client_of(ClusterAccess access, ClientSettings settings) {
        auto client = Client::create(loop, std::move(access), std::move(settings));
        EXPECT_TRUE(client) << client.error().message;
        return client ? std::move(*client) : nullptr;
    }

    aio::Loop loop;
    aio::TaskGroup group{loop};
};

}  // namespace gpuctl::k8s
