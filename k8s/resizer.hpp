#pragma once
// Changes how many ranks the Job of an elastic job has: parallelism and completions together, which
// an Indexed Job allows (G6); the Job controller makes the missing pods, or deletes those of the
// highest indexes with their own grace (G12). One JSON patch that tests whose job it is and which
// size it has now, so that a patch that comes late, or twice, changes nothing. Whatever the answer,
// what is there is read back before anything is said of it.
//
// Only Jobs that we made: how large a user's own Job is, is its user's business.
//
// Thread: the loop's. Each call ends at its own deadline; the engine asks again.

#include <functional>
#include <string>
#include <string_view>

#include "daemon/aio/task_group.hpp"
#include "k8s/client.hpp"
#include "k8s/work_queue.hpp"
#include "k8s/workload.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::k8s {

class Resizer {
public:
    using Done = std::function<void(WorkloadResizeOutcome outcome)>;

    Resizer(aio::TaskGroup& group, Client& client, LabelKeys labels, Done done);

    void resize(ResizeWorkload order);

    [[nodiscard]] bool idle() const { return queue_.idle(); }

private:
    aio::Task<void> run(ResizeWorkload order);
    // What became of it, by what is there; `error`: what the patch was answered.
    aio::Task<WorkloadResizeOutcome> look(ResizeWorkload order, std::string path, ApiError error);

    Client& client_;
    LabelKeys labels_;
    Done done_;
    WorkQueue queue_;
};

std::string resize_patch(const ResizeWorkload& order, const LabelKeys& labels);

// Of a Job as the API server shows it.
struct JobSize {
    std::string job_uid;  // empty: not made by us
    std::int64_t completions = 0;
};
JobSize read_job_size(std::string_view json, const LabelKeys& labels);

}  // namespace gpuctl::k8s
