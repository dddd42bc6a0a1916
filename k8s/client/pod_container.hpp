#pragma once
// The path of a pod, and which of its containers a request is about.

#include <string>

#include "k8s/client/client.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

std::string pod_path(const ObjectKey& key);

// Subresources know names only. Reads the pod to see that this incarnation has the name now, so
// that no reader gets the log or a shell of its successor, and chooses the container: `wanted`,
// else the one in the pod's default-container annotation, else the first, as kubectl does. `doing`
// opens the message: "read the log of".
aio::Task<Result<std::string>> find_container(Client& client, ObjectKey pod, std::string uid,
                                              std::string wanted, std::string doing,
                                              aio::Deadline deadline);

}  // namespace gpuctl::k8s
