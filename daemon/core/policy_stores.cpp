#include "daemon/core/policy_stores.hpp"

#include <chrono>
#include <utility>

namespace gpuctl::core {
namespace {

// How long an answer waits until the cluster has reported what was written.
constexpr std::chrono::seconds kReported{3};

}  // namespace

void JournaledPolicyStore::assign(const ports::NodeMemberships& all) {
    assigned_ = all;
    if (nodes_ != nullptr) nodes_->assign(all);
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

void ClusterPolicyStore::assign(const ports::NodeMemberships& all) {
    if (nodes_ != nullptr) nodes_->assign(all);
}

bool ClusterPolicyStore::has(const ports::PolicyObjectWritten& written) const {
    const PolicyObject* object = engine_.engine().state().policy_objects.find(written.key);
    if (written.uid.empty()) return object == nullptr;
    return object != nullptr && object->uid == written.uid && object->version >= written.version;
}

// The policy and the pools of nodes follow from what the cluster reports, before the objects.
aio::Task<Result<void>> ClusterPolicyStore::write(ports::PolicyWrite wanted,
                                                  aio::Deadline deadline) {
    if (std::optional<Error> refused = engine_.refusal()) co_return *refused;
    Result<std::vector<ports::PolicyObjectWritten>> written =
        co_await objects_.write(std::move(wanted.objects), deadline);
    if (!written) co_return written.error();
    const aio::Deadline shown = aio::Deadline::earlier(deadline, aio::Deadline::in(kReported));
    for (const ports::PolicyObjectWritten& one : *written) {
        // It is stored in any case; a later report reaches the engine later.
        while (!has(one) && !shown.passed()) (void)co_await engine_.changed().wait(shown);
    }
    co_return Result<void>{};
}

}  // namespace gpuctl::core
