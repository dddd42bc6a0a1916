#pragma once
// Changes of nodes that users request. The cluster decides: each change is one effect with its
// preconditions, and the node here changes when the cluster reports it. One change of a node at a
// time, in the order of the requests; at most kNodeChangesMaximum are open.
//
//   requested ──check() agrees──> open ──no older change of the node──> in flight ──outcome──> gone
//                                   ^                                       │
//                                   └────────── a new term begins ──────────┘
//
// A new term drops changes that were requested long ago: their users have stopped waiting.
//
// Owner, thread: ClusterState's.

#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/node_changes/open_change.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class NodeChanges {
public:
    explicit NodeChanges(ClusterState& state) : state_(state) {}

    void on(const NodeChangeRequested& event, EffectList& effects);
    void on(const NodeChangeOutcome& event, EffectList& effects);
    void send_again(EffectList& effects);  // in a new term

    // True: the cluster will be asked. False: the node is so already. Errors: NotLeader,
    // NodeNotFound, Conflict, LabelConflict, TooManyRequests.
    [[nodiscard]] Result<bool> check(const NodeChangeRequested& event) const;

    [[nodiscard]] const std::vector<OpenNodeChange>& open() const { return open_; }

    // False: two changes of a node are in flight, or a change has no node.
    [[nodiscard]] bool restore(std::vector<OpenNodeChange> open, Key<StateReader>);

private:
    [[nodiscard]] bool has_open(std::string_view node) const;
    void send_next(std::string_view node, EffectList& effects);
    void send(OpenNodeChange& open, EffectList& effects);

    ClusterState& state_;
    std::vector<OpenNodeChange> open_;  // in the order of the requests
};

}  // namespace gpuctl
