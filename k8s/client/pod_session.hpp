#pragma once
// Sessions through the API server, which forwards them to the kubelet of the pod's node.

#include "k8s/client/client.hpp"
#include "ports/sessions.hpp"

namespace gpuctl::k8s {

class KubernetesSessions : public ports::SessionSource {
public:
    explicit KubernetesSessions(Client& client) : client_(client) {}

    // NotFound: no such pod or container, or another incarnation of it than `request.uid`.
    aio::Task<Result<std::unique_ptr<ports::SessionStream>>> open(ports::SessionRequest request,
                                                                  aio::Deadline deadline) override;

private:
    Client& client_;
};

}  // namespace gpuctl::k8s
