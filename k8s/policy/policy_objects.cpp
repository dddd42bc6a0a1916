#include "k8s/policy/policy_objects.hpp"

#include <utility>

namespace gpuctl::k8s {

KubernetesPolicy::KubernetesPolicy(aio::Loop& loop, aio::TaskGroup& group, Client& client,
                                   Settings settings, Feeds feeds, PolicyWriter::Term term)
    : group_(group),
      feeds_(feeds),
      writer_(
          client, settings.labels, [this](PolicyKind kind) { return feeds_.watches.policy(kind); },
          std::move(term)),
      status_(loop, client, [this](PolicyKind kind) { return feeds_.watches.policy(kind); }),
      labels_(loop, group, client,
              [this](const std::string& name) { return feeds_.nodes.find(name); },
              {settings.labels, settings.instance, std::chrono::milliseconds{1'000},
               std::chrono::milliseconds{300'000}, std::chrono::milliseconds{600'000},
               std::move(settings.on_restored)}) {
    feeds_.nodes.on_change([this](const std::string& node) { labels_.look(node); });
}

void KubernetesPolicy::start() {
    group_.spawn("status of the policy", status_.run());
    group_.spawn("labels of pools", labels_.run());
}

void KubernetesPolicy::lead(std::optional<Epoch> epoch) {
    status_.lead(epoch);
    labels_.lead(epoch);
}

std::optional<Error> KubernetesPolicy::refusal(PolicyKind kind) const {
    if (feeds_.watches.policy(kind) != nullptr) return std::nullopt;
    return kinds_are_missing(kind);
}

aio::Task<Result<std::vector<ports::PolicyObjectWritten>>> KubernetesPolicy::write(
    PolicyObjectsChanged wanted, aio::Deadline deadline) {
    Result<std::vector<ports::PolicyObjectWritten>> written =
        co_await writer_.write(std::move(wanted), deadline);
    co_return written;
}

void KubernetesPolicy::report(std::vector<ports::PolicyObjectStatus> all) {
    status_.report(std::move(all));
}

void KubernetesPolicy::assign(const ports::NodeMemberships& all) {
    const bool is_new = all != assigned_;
    assigned_ = all;
    const bool has_pools = feeds_.watches.policy(PolicyKind::pool) != nullptr;
    feeds_.nodes.assign(all, has_pools);
    // Without the kinds no pool is known: labels stay as they are.
    if (!has_pools) return;
    if (std::exchange(are_labels_assigned_, true) && !is_new) return;
    labels_.assign(all);
}

}  // namespace gpuctl::k8s
