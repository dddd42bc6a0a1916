#pragma once
// The only home of co_spawn and detached. Every task belongs to a group; a group is stopped in
// three moves: cancel() (terminal, no new tasks), join(deadline), left() names the tasks that did
// not end in time.
//
// Thread: the loop's. Ownership: a group must be empty when it is destroyed (CHECK).

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "aio/deadline.hpp"
#include "aio/task.hpp"

namespace gpuctl::aio {

class Loop;

class TaskGroup {
public:
    explicit TaskGroup(Loop& loop);
    ~TaskGroup();
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    // Starts the task on the loop. After cancel() the task is dropped unstarted and false returned.
    // An exception that leaves the task is a bug: CHECK.
    bool spawn(std::string name, Task<void> task);

    void cancel();
    [[nodiscard]] bool cancelled() const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::vector<std::string> left() const;

    // True when every task has ended before the deadline.
    Task<bool> join(Deadline deadline);

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::aio
