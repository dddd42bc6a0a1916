#pragma once
// What both directions of cp share. Private to cp.

#include <string>
#include <vector>

#include "aio/task_group.hpp"
#include "cli/sessions/commands.hpp"
#include "cli/sessions/pod_session.hpp"

namespace gpuctl::cli {

inline constexpr std::size_t kReportedBytesMax = 4u << 10;

Error cp_error(const std::string& what);

// What tar said, in one sentence; success for exit code 0. `job` names the image that has no tar.
Result<void> outcome_of_tar(const Result<std::int32_t>& code, const std::string& reported,
                            const std::string& job);

SessionWish tar_wish(const CpOptions& options, const std::string& job,
                     std::vector<std::string> command);

// `tasks` runs what listens to tar.
aio::Task<Result<void>> copy_to(Connection& connection, aio::TaskGroup& tasks, CpOptions options,
                                CpEnd to);

// While it exists, ctrl-c and the other signals that end a process are only noted, once: cp then
// removes what is half done. A second one ends it at once.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;
    // The signal; 0: none came.
    [[nodiscard]] static int caught();
};

}  // namespace gpuctl::cli
