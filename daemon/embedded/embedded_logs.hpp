#pragma once
// Logs of virtual containers, as a kubelet would serve them: tail, since, follow.
//
// Streams must not outlive the cluster they read from.

#include <memory>

#include "ports/logs.hpp"

namespace gpuctl::embedded {

class EmbeddedCluster;

class EmbeddedLogs final : public ports::LogSource {
public:
    explicit EmbeddedLogs(EmbeddedCluster& cluster) : cluster_(cluster) {}

    // NotFound: no such pod, incarnation or container. BadRequest: its container has not started.
    // Unreachable: its node is lost.
    aio::Task<Result<std::unique_ptr<ports::LogStream>>> open(ports::LogRequest request,
                                                              aio::Deadline deadline) override;

private:
    EmbeddedCluster& cluster_;
};

}  // namespace gpuctl::embedded
