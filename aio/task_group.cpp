#include "aio/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <list>
#include <utility>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "aio/timer.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::aio {

namespace asio = boost::asio;

namespace {

struct Record {
    explicit Record(std::string task_name) : name(std::move(task_name)) {}
    std::string name;
    asio::cancellation_signal signal;
};

using Records = std::list<std::shared_ptr<Record>>;

// Starts in a turn of its own, so that spawn() never runs the task inside its caller. With
// throw_if_cancelled off, a cancelled wait answers with a value, and each primitive of aio/ and
// net/ looks at the cancellation state before it waits.
Task<void> run_task(Task<void> task) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await asio::post(kUseTask);
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    co_await std::move(task);
}

[[noreturn]] void report_exception(const std::string& task, const std::exception_ptr& thrown) {
    std::string what = "task '" + task + "' ended with an unknown exception";
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& exception) {
        what = "task '" + task + "' ended with an exception: " + exception.what();
    } catch (...) {
    }
    check_failed("no exception leaves a task", what, std::source_location::current());
}

}  // namespace

struct TaskGroup::Parts {
    Loop& loop;
    Signal emptied;
    Records records;
    bool cancelled = false;

    explicit Parts(Loop& on) : loop(on), emptied(on) {}

    void ended(Records::iterator at, const std::exception_ptr& thrown) {
        const std::shared_ptr<Record> record = *at;
        if (thrown) report_exception(record->name, thrown);
        records.erase(at);
        // The signal must outlive the frames of co_spawn, which are still on the stack here.
        asio::post(loop.context(), [record] {});
        if (records.empty()) emptied.notify_all();
    }

    void emit() {
        // A copy: cancelling one task may end other tasks.
        const Records running = records;
        for (const auto& record : running) record->signal.emit(asio::cancellation_type::terminal);
    }
};

TaskGroup::TaskGroup(Loop& loop) : parts_(std::make_shared<Parts>(loop)) {}

TaskGroup::~TaskGroup() {
    GPUCTL_CHECK(parts_->records.empty(), "a TaskGroup must be joined before it is destroyed");
}

bool TaskGroup::spawn(std::string name, Task<void> task) {
    if (parts_->cancelled) return false;
    const auto record = std::make_shared<Record>(std::move(name));
    const auto at = parts_->records.insert(parts_->records.end(), record);
    asio::co_spawn(parts_->loop.executor(), run_task(std::move(task)),
                   asio::bind_cancellation_slot(record->signal.slot(),
                                                [parts = parts_, at](std::exception_ptr thrown) {
                                                    parts->ended(at, thrown);
                                                }));
    return true;
}

void TaskGroup::cancel() {
    if (parts_->cancelled) return;
    parts_->cancelled = true;
    // co_spawn's cancellation handler keeps a raw pointer to its own signal while the emission is
    // queued (Asio before 1.28.2). Emitting on the loop thread makes it run at once.
    if (parts_->loop.on_loop_thread()) {
        parts_->emit();
    } else {
        asio::post(parts_->loop.context(), [parts = parts_] { parts->emit(); });
    }
}

bool TaskGroup::cancelled() const { return parts_->cancelled; }

std::size_t TaskGroup::size() const { return parts_->records.size(); }

std::vector<std::string> TaskGroup::left() const {
    std::vector<std::string> names;
    for (const auto& record : parts_->records) names.push_back(record->name);
    return names;
}

Task<bool> TaskGroup::join(Deadline deadline) {
    const std::shared_ptr<Parts> parts = parts_;
    while (!parts->records.empty()) {
        const bool emptied = co_await parts->emptied.wait(deadline);
        if (!emptied) break;
    }
    co_return parts->records.empty();
}

}  // namespace gpuctl::aio
