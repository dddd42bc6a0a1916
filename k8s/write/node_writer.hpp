#pragma once
// Changes labels and the cordon of a node by a merge patch that applies only to the version of the
// node that the watch showed, on which the conditions of the change were checked: a node that was
// changed meanwhile is read by the watch again, and checked again. A success is answered once the
// watch has shown the change, so that a read after the answer shows it.
//
// Thread: the loop's. Each change ends at its own deadline, with an outcome.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/write/work_queue.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::k8s {

// A node as the watch showed it last.
struct WatchedNode {
    std::string uid;
    std::string resource_version;
    bool unschedulable = false;
    NodeLabels labels;
};

class NodeWriter {
public:
    using Done = std::function<void(NodeChangeOutcome outcome)>;
    // nullopt: the watch shows no such node.
    using Find = std::function<std::optional<WatchedNode>(const std::string& name)>;

    NodeWriter(aio::TaskGroup& group, Client& client, Find find, Done done);

    void change(ChangeNode order);

    [[nodiscard]] bool idle() const { return queue_.idle(); }

private:
    aio::Task<void> run(ChangeNode order);
    aio::Task<NodeChangeOutcome> carry_out(ChangeNode order, aio::Deadline deadline);
    aio::Task<bool> wait_for_version(std::string node, std::string past, bool or_later,
                                     aio::Deadline deadline);

    Client& client_;
    Find find_;
    Done done_;
    WorkQueue queue_;
};

std::string node_patch(const NodeChange& change, const WatchedNode& node);

// Whether `version` is `other` or a later one; versions that are no numbers are only compared for
// equality.
bool is_at_least(std::string_view version, std::string_view other);

}  // namespace gpuctl::k8s
