#pragma once
// Changes the number of ranks of an elastic job's Job: parallelism and completions together, which
// an Indexed Job allows; the Job controller creates the missing pods, or deletes those with the
// highest indexes with their own grace period. One JSON patch that tests the job's uid and its
// current size, so that a patch that arrives late, or twice, changes nothing. Whatever the answer,
// the Job is read back before a result is reported.
//
// Only Jobs that we made: the size of a user's own Job is the user's decision.
//
// Thread: the loop's. Each call ends at its own deadline; the engine retries.

#include <functional>
#include <string>
#include <string_view>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/workload/workload.hpp"
#include "k8s/write/work_queue.hpp"
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
    // The result, from the Job as read back; `error`: the answer to the patch.
    aio::Task<WorkloadResizeOutcome> read_back(ResizeWorkload order, std::string path,
                                               ApiError error);

    Client& client_;
    LabelKeys labels_;
    Done done_;
    WorkQueue queue_;
};

std::string resize_patch(const ResizeWorkload& order, const LabelKeys& labels);

// The fields of a Job as the API server returns it.
struct JobSize {
    std::string job_uid;  // empty: not made by us
    std::int64_t completions = 0;
};
JobSize read_job_size(std::string_view json, const LabelKeys& labels);

}  // namespace gpuctl::k8s
