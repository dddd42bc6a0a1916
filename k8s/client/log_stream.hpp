#pragma once
// A pod's log through the API server: plain bytes, chunked, not JSON. Lines carry the kubelet's
// timestamps; a reader that resumes after a cut asks with `since_time` and drops the lines it has
// seen.

#include <memory>
#include <string>

#include "k8s/client/client.hpp"
#include "ports/logs.hpp"

namespace gpuctl::k8s {

class KubernetesLogs : public ports::LogSource {
public:
    explicit KubernetesLogs(Client& client) : client_(client) {}

    // NotFound: no such pod or container, or another incarnation of it than `request.uid`.
    // BadRequest: the container has not started yet; try again when it runs.
    aio::Task<Result<std::unique_ptr<ports::LogStream>>> open(ports::LogRequest request,
                                                              aio::Deadline deadline) override;

private:
    Client& client_;
};

std::string log_path(const ports::LogRequest& request);

}  // namespace gpuctl::k8s
