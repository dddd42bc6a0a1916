#pragma once
// The state of a job as `wait` and `delete --wait` read it.

#include <string>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {

struct JobState {
    bool is_gone = false;
    std::string status;  // Pending, Running, ...
    std::string ready;   // "2/4"
    std::string why;     // why it waits or failed
};

// A job that does not exist is no error.
aio::Task<Result<JobState>> read_job_state(Connection& connection, JobName job);

// Returns when the condition holds. Errors: Timeout (also when it can never hold), JobNotFound, and
// what the server refuses.
aio::Task<Result<void>> wait_for_job(Connection& connection, JobName job, WaitOptions options);

// Whether the same request may succeed a little later.
bool may_pass(ErrorCode code);

}  // namespace gpuctl::cli
