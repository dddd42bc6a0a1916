#pragma once
// The pods and options of a log request.

#include <string>
#include <vector>

#include "daemon/api/http/routes.hpp"
#include "daemon/logs/log_relay.hpp"

namespace gpuctl::api {

inline constexpr std::size_t kPodsFollowedMax = 64;

struct LogQuery {
    std::int64_t tail = 100;
    bool all = false;
    std::string pod;
    std::string container;
    std::vector<logs::Token> since;
    std::int64_t not_before_ns = 0;  // of sinceSeconds; older lines are left out
    bool previous = false;
    bool timestamps = false;  // before each line; frames have them anyway
};

// Errors: BadRequest.
Result<LogQuery> read_query(const Call& call);

struct LogTarget {
    ports::LogRequest log;
    bool readable = false;    // its container has started
    std::string waiting_for;  // why not
};

// The named pod, all pods, or the one most useful to read (lowest rank among the running, else
// among those that ran, else the first). Errors: JobNotFound, JobAmbiguous, BadRequest.
Result<std::vector<LogTarget>> find_targets(Services& services, const Call& call,
                                            const LogQuery& query);

}  // namespace gpuctl::api
