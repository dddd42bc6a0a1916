// Changes of nodes, and when each is answered.

#include <utility>

#include "aio/entropy.hpp"
#include "daemon/core/engine_waiter.hpp"
#include "wording/node_change.hpp"

namespace gpuctl::core {

aio::Task<Result<void>> EngineLoop::change_node(NodeChange change, aio::Deadline deadline) {
    if (std::optional<Error> refused = refusal()) co_return *refused;
    const std::string node = change.node;
    const std::string request = aio::time_ordered_uuid(aio::Loop::wall_ms());
    Item item{NodeChangeRequested{request, std::move(change)}, std::make_shared<Waiter>(loop_)};
    item.waiter->needs_workload = true;
    if (mailbox_.size() < settings_.queue_max) changing_nodes_[request] = item.waiter;
    Result<void> outcome = co_await enqueue(std::move(item), deadline);
    changing_nodes_.erase(request);
    if (!outcome && outcome.error().code == ErrorCode::UnknownOutcome) {
        co_return make_error(ErrorCode::UnknownOutcome,
                             "change node " + node +
                                 ": the cluster has not confirmed it in time; check with `gpuctl "
                                 "describe node " +
                                 node + "` before sending it again");
    }
    co_return outcome;
}

// Inputs before it may have changed the node since the request was sent: the engine ignores a
// change that it does not accept, and sends none that is not needed.
void EngineLoop::check_change(const NodeChangeRequested& change) {
    const auto found = changing_nodes_.find(change.request);
    if (found == changing_nodes_.end()) return;
    const Result<bool> agreed = engine_.state().node_changes.check(change);
    if (!agreed) {
        found->second->answer(wording::node_change_error(change.change, agreed.error()));
    } else if (!*agreed) {
        found->second->in_cluster = true;
        found->second->answer_if_complete();
    }
}

void EngineLoop::settle(const NodeChangeOutcome& outcome) {
    const auto found = changing_nodes_.find(outcome.request);
    if (found == changing_nodes_.end()) return;
    if (outcome.result == NodeChangeResult::changed) {
        found->second->in_cluster = true;
        found->second->answer_if_complete();
        return;
    }
    found->second->answer(make_error(outcome.code, outcome.message));
}

}  // namespace gpuctl::core
