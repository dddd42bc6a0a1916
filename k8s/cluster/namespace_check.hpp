#pragma once
// Whether jobs may be created in a namespace: it exists, is not being deleted, and is managed: it
// has our label, is `default`, the policy or a job of ours names it, or it holds workloads with our
// labels. A check before a write; the API server checks existence again.

#include <string>
#include <string_view>

#include "k8s/client/client.hpp"
#include "k8s/json/labels.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::k8s {

struct NamespaceMark {
    bool is_terminating = false;
    bool is_managed = false;  // has our label, or that of an earlier product
};
// Of a Namespace in JSON.
NamespaceMark read_namespace(std::string_view json, const LabelKeys& labels);

aio::Task<Result<void>> check_namespace(Client& client, LabelKeys labels,
                                        ports::NamespaceQuestion question, aio::Deadline deadline);

}  // namespace gpuctl::k8s
