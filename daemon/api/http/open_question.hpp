#pragma once
// Questions that are answered by simulation, in copies of the engine on another thread, one at a
// time: each takes as much memory as the state once or twice more.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/api/http/services.hpp"
#include "scheduler/whatif/remedies.hpp"

namespace gpuctl::api {

class OpenQuestion {
public:
    explicit OpenQuestion(Services& services) : services_(services) { ++services_.questions_open; }
    ~OpenQuestion() { --services_.questions_open; }
    OpenQuestion(const OpenQuestion&) = delete;
    OpenQuestion& operator=(const OpenQuestion&) = delete;

private:
    Services& services_;
};

// Why no question can be simulated now: another one is running (TooManyRequests), or the cluster is
// not known yet (ClusterUnavailable).
std::optional<Error> cannot_ask(const Services& services);

// How long a question may wait for its copy of the state.
aio::Deadline patience(const Services& services);
// Continues while the trials of one question have taken less than a third of the request timeout,
// and gpuctld does not stop.
whatif::GoOn for_a_while(const Services& services);

// The version of an answer's state: the sequence number of its last input.
inline std::uint64_t revision_before(Sequence next) { return static_cast<std::uint64_t>(next) - 1; }

// The whole exported state, for trials in copies of the engine.
struct Exported {
    std::shared_ptr<const std::string> state;
    std::uint64_t revision = 0;
};
aio::Task<Result<Exported>> export_state(Services& services);

}  // namespace gpuctl::api
