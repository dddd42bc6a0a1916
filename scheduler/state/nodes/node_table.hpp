#pragma once
// The rows of nodes, and which part may write which field of a row (table.hpp).

#include "scheduler/base/ids.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class Maintenance;
class Nodes;
class Pods;

class NodeTable final : public Table<NodeRow, NodeTable> {
public:
    NodeBase& base(NodeId id, Key<Nodes>) { return row(id); }
    WindowSet& windows(NodeId id, Key<Maintenance>) { return row(id).windows; }
    std::vector<PodId>& pods(NodeId id, Key<Pods>) { return row(id).pods; }

    void add(Key<Nodes>) { rows_.emplace_back(); }
    void clear(NodeId id, Key<Nodes>) { row(id) = NodeRow{}; }

private:
    [[nodiscard]] NodeRow& row(NodeId id) { return rows_[id.value()]; }
};

}  // namespace gpuctl
