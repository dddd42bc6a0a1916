#pragma once
// A session with one pod: a command in a container, the container's own process, or one of its
// ports. Bytes go both ways until one side ends it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::ports {

enum class SessionKind : std::uint8_t { exec, attach, port_forward };

struct SessionRequest {
    SessionKind kind = SessionKind::exec;
    ObjectKey pod;
    std::string uid;
    std::string container;             // empty: the pod's default container, else its first
    std::vector<std::string> command;  // of exec
    bool has_input = false;
    bool has_terminal = false;  // then there is no separate stream of errors
    std::uint16_t port = 0;     // of port_forward
};

struct SessionInput {
    enum class Kind : std::uint8_t { bytes, end, terminal_size };
    Kind kind = Kind::bytes;
    std::string bytes;
    std::uint16_t columns = 0;  // of a terminal
    std::uint16_t rows = 0;
};

struct SessionOutput {
    enum class Kind : std::uint8_t { bytes, error_bytes, ended };
    Kind kind = Kind::bytes;
    std::string bytes;
    // What follows is of `ended`, after which nothing comes.
    std::int32_t exit_code = 0;
    std::optional<Error> failed;  // there is no exit code
};

// One reader and one writer task at a time.
class SessionStream {
public:
    virtual ~SessionStream() = default;
    // Waits while the other side accepts no more. Any error ends the session.
    virtual aio::Task<Result<void>> write(SessionInput input, aio::Deadline deadline) = 0;
    // Timeout leaves the session usable; any other error ends it.
    virtual aio::Task<Result<SessionOutput>> read(aio::Deadline deadline) = 0;
    virtual aio::Task<void> close(aio::Deadline deadline) = 0;
};

class SessionSource {
public:
    virtual ~SessionSource() = default;
    virtual aio::Task<Result<std::unique_ptr<SessionStream>>> open(SessionRequest request,
                                                                   aio::Deadline deadline) = 0;
};

}  // namespace gpuctl::ports
