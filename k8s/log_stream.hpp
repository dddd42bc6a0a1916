#pragma once
// A pod's log through the API server (A6): plain bytes, chunked, not JSON. Lines carry the
// kubelet's timestamps; who resumes after a cut asks with `since_time` and drops what it has
// already seen.

#include <memory>
#include <string>

#include "daemon/ports/logs.hpp"
#include "k8s/client.hpp"

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
