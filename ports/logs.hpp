#pragma once
// Log lines of one pod, as the kubelet gives them: each starts with an RFC 3339 timestamp, a space,
// and the text.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::ports {

struct LogRequest {
    ObjectKey pod;
    std::string uid;
    std::string container;  // empty: the pod's default container, else its first
    bool follow = false;
    std::optional<std::int64_t> tail_lines;
    bool previous = false;   // of the container before its last restart; never followed
    std::string since_time;  // RFC 3339; lines of that second repeat: the reader drops repeats
};

class LogStream {
public:
    virtual ~LogStream() = default;
    // Appends whole or partial lines to `out`; false at the end of the log. Timeout leaves the
    // stream usable.
    virtual aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) = 0;
};

class LogSource {
public:
    virtual ~LogSource() = default;
    virtual aio::Task<Result<std::unique_ptr<LogStream>>> open(LogRequest request,
                                                               aio::Deadline deadline) = 0;
};

}  // namespace gpuctl::ports
