#pragma once
// Questions that are answered by trying, in copies of the engine on a thread of their own, one at a
// time: each takes as much memory as the state once or twice more.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/api/services.hpp"
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

// Why no question can be tried now: another one is (TooManyRequests), or the cluster is not known
// yet (ClusterUnavailable).
std::optional<Error> cannot_ask(const Services& services);

// How long an answer may wait for the state that it is about.
aio::Deadline patience(const Services& services);
// For the trials of one question: a third of what a request may take, and not while gpuctld stops.
whatif::GoOn for_a_while(const Services& services);

// What an answer says it is about: the number of the last input that the state behind it took.
inline std::uint64_t revision_before(Sequence next) { return static_cast<std::uint64_t>(next) - 1; }

// The whole state, for trials in copies of it.
struct Exported {
    std::shared_ptr<const std::string> state;
    std::uint64_t revision = 0;
};
aio::Task<Result<Exported>> export_state(Services& services);

}  // namespace gpuctl::api
