#pragma once
// The objects of the policy in this cluster, and the pools of its nodes: the parts of this folder
// together, as the daemon sees them.
//
// Owner: KubernetesCluster, whose task group runs the tasks that start() spawns. Thread: the
// loop's.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aio/task_group.hpp"
#include "k8s/cluster/node_feed.hpp"
#include "k8s/cluster/side_watches.hpp"
#include "k8s/policy/policy_status.hpp"
#include "k8s/policy/policy_writer.hpp"
#include "k8s/policy/pool_labels.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::k8s {

class KubernetesPolicy final : public ports::PolicyObjectPort, public ports::NodePools {
public:
    struct Settings {
        LabelKeys labels;
        std::string instance;
        std::function<void(const std::string& node, const std::string& had,
                           const std::string& pool)>
            on_restored;
    };
    struct Feeds {
        const SideWatches& watches;
        NodeFeed& nodes;
    };
    KubernetesPolicy(aio::Loop& loop, aio::TaskGroup& group, Client& client, Settings settings,
                     Feeds feeds, PolicyWriter::Term term);

    void start();
    void lead(std::optional<Epoch> epoch);
    void object_shown() { status_.look(); }
    [[nodiscard]] bool idle() const { return writer_.idle() && labels_.idle(); }

    [[nodiscard]] std::optional<Error> refusal(PolicyKind kind) const override;
    aio::Task<Result<std::vector<ports::PolicyObjectWritten>>> write(
        PolicyObjectsChanged wanted, aio::Deadline deadline) override;
    void report(std::vector<ports::PolicyObjectStatus> all) override;
    void assign(const ports::NodeMemberships& all) override;

private:
    aio::TaskGroup& group_;
    Feeds feeds_;
    PolicyWriter writer_;
    PolicyStatusWriter status_;
    PoolLabels labels_;
    ports::NodeMemberships assigned_;
    bool are_labels_assigned_ = false;
};

}  // namespace gpuctl::k8s
