#pragma once
// Projects what ComputePools say of nodes to labels of the nodes: the pool, its GPU type where one
// is given, and that the label is such a projection. A node whose label differs is restored, and
// that is reported; a node that no pool names any more loses the label. Repeated restoring of one
// node becomes rarer, so that two controllers do not fight at full speed.
//
// Thread: the loop's. Memory: an entry for each node that is named or is being restored.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "k8s/client/client.hpp"
#include "k8s/json/labels.hpp"
#include "k8s/write/node_writer.hpp"
#include "k8s/write/paced_writer.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::k8s {

struct PoolLabelsSettings {
    LabelKeys labels;
    std::string instance = "gpuctld";  // reportingInstance of events
    std::chrono::milliseconds again_first{1'000};
    std::chrono::milliseconds again_max{300'000};
    std::chrono::milliseconds calm{600'000};  // then the first pause again
    // A label that another client had set was replaced.
    std::function<void(const std::string& node, const std::string& had, const std::string& pool)>
        on_restored;
};

class PoolLabels final : public PacedWriter {
public:
    // The nodes as the watch shows them; nullopt: there is no such node.
    using Find = NodeWriter::Find;

    PoolLabels(aio::Loop& loop, aio::TaskGroup& group, Client& client, Find find,
               PoolLabelsSettings settings);

    // Until the first call no node is looked at: which pools there are is not known.
    void assign(const ports::NodeMemberships& all);
    // A node is new or changed.
    void look(const std::string& node);
    [[nodiscard]] bool idle() const { return writer_.idle(); }

private:
    struct Due {
        Time at{};
        std::chrono::milliseconds pause{0};
        Time written_at{};
        bool is_running = false;
        bool is_due = true;
    };
    [[nodiscard]] Time next_at(Time now) const override;
    aio::Task<void> write_next(Time now, Epoch epoch) override;
    [[nodiscard]] std::optional<NodeChange> change_of(const std::string& name,
                                                      const WatchedNode& node) const;
    void report(const std::string& name, const WatchedNode& node, Epoch epoch);
    aio::Task<void> post_event(std::string name, std::string uid, std::string note, Epoch epoch);

    aio::TaskGroup& group_;
    Client& client_;
    Find find_;
    PoolLabelsSettings settings_;
    NodeWriter writer_;
    std::optional<ports::NodeMemberships> memberships_;
    std::map<std::string, Due> due_;  // by node
    std::uint64_t events_ = 0;
};

// What has to change of a node's labels; nullopt: nothing. `member` may be null.
std::optional<NodeChange> label_change(const std::string& name, const WatchedNode& node,
                                       const ports::NodeMembership* member,
                                       const LabelKeys& labels);

}  // namespace gpuctl::k8s
