#include "daemon/api/preflight/namespace_use.hpp"

#include <algorithm>

#include "daemon/api/policy/policy_layers.hpp"
#include "daemon/api/policy/uses.hpp"

namespace gpuctl::api {
namespace {

// Named by the configuration or by an object of the policy, or in use by a job of ours.
bool is_known(const Services& services, const std::string& name) {
    const ClusterState& state = services.engine.state();
    const std::vector<TenantPolicy>& tenants = state.policy().tenants;
    const bool is_tenant =
        std::any_of(tenants.begin(), tenants.end(),
                    [&name](const TenantPolicy& tenant) { return tenant.name == name; });
    return is_tenant || name == "default" ||
           services.policy->find({PolicyKind::name_space, name}) != nullptr ||
           services.policy->find({PolicyKind::quota, name}) != nullptr ||
           !own_jobs_in(state, name).empty();
}

bool are_made(const Services& services) {
    const std::map<PolicyKey, PolicyObject>& objects = services.policy->objects();
    return std::any_of(objects.begin(), objects.end(), [](const auto& object) {
        return object.first.kind == PolicyKind::name_space && object.first.name != "default";
    });
}

}  // namespace

aio::Task<Result<void>> check_namespace(Services& services, std::string doing, std::string name) {
    constexpr std::chrono::seconds patience{10};
    ports::NamespaceQuestion question;
    question.is_known = is_known(services, name);
    question.are_made = are_made(services);
    question.name = std::move(name);
    const aio::Deadline deadline = aio::Deadline::in(patience);
    const Result<void> answer =
        co_await services.cluster.check_namespace(std::move(question), deadline);
    if (answer) co_return Result<void>{};
    co_return make_error(answer.error().code, doing + ": " + answer.error().message);
}

}  // namespace gpuctl::api
