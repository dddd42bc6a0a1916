#include "daemon/core/policy_stores.hpp"

#include <utility>

namespace gpuctl::core {

void JournaledPolicyStore::assign(const ports::NodeMemberships& all) {
    assigned_ = all;
    nodes_.assign(all);
}

// The nodes come first: when the objects are on disk, the engine has everything before them.
aio::Task<Result<void>> JournaledPolicyStore::write(ports::PolicyWrite wanted,
                                                    aio::Deadline deadline) {
    if (std::optional<Error> refused = engine_.refusal()) co_return *refused;
    const ports::NodeMemberships before = assigned_;
    assign(wanted.nodes);
    std::string what = "the change of the policy";
    Result<void> outcome = co_await engine_.change_objects(
        std::move(wanted.policy), std::move(wanted.objects), std::move(what), deadline);
    // After an unknown outcome the objects may be stored; the next start assigns by what is.
    if (!outcome && outcome.error().code != ErrorCode::UnknownOutcome) assign(before);
    co_return outcome;
}

std::optional<Error> NoPolicyStore::refusal() const {
    return make_error(
        ErrorCode::NotSupportedHere,
        "on Kubernetes, pools come from node labels and from policy.pools of gpuctld.yaml, quotas "
        "from policy.tenants, namespaces from the cluster (kubectl create namespace); objects made "
        "with gpuctl need kinds in the cluster that this version does not install");
}

aio::Task<Result<void>> NoPolicyStore::write(ports::PolicyWrite, aio::Deadline) {
    co_return *refusal();
}

}  // namespace gpuctl::core
