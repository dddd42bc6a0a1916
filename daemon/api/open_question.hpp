#pragma once
// Questions that are answered by trying, in copies of the engine on the pool. The pool also writes
// the journal: one question at a time leaves it threads enough.

#include <optional>

#include "daemon/api/services.hpp"

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

}  // namespace gpuctl::api
