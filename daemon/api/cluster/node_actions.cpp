// Nodes and their pools; cordons and drains.

#include "daemon/api/cluster/node_requests.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/policy/node_moves.hpp"
#include "scheduler/model/policy/maintenance.hpp"

namespace gpuctl::api {
namespace {

Json pool_reply(const std::string& node, const std::string& pool, const std::string& message) {
    return {{"node", node}, {"nodeName", node}, {"pool", pool}, {"message", message}};
}

struct PoolMove {
    std::string pool;
    bool moves = false;
};

Result<PoolMove> pool_move_of(const Call& call) {
    const Result<JsonBody> body = object_of(call, {"pool", "move"});
    if (!body) return body.error();
    Result<std::string> pool = text_in(*body, "pool");
    if (!pool) return pool.error();
    const Result<bool> moves = flag_in(*body, "move");
    if (!moves) return moves.error();
    if (*pool == "default-pool") *pool = kDefaultPool;
    if (const auto valid = wire::check_label_value("pool", *pool); !valid) return valid.error();
    return PoolMove{std::move(*pool), *moves};
}

// Only if its pool is still the one that was read.
NodeChange change_of_pool(const NodeFacts& node, const std::string& pool,
                          const std::string& prefix) {
    NodeChange change;
    change.node = node.name;
    change.uid = node.uid;
    change.overwrite = true;
    const std::string label = pool_label_of(node, prefix);
    const auto known = node.labels.find(label);
    if (known != node.labels.end()) change.expected[label] = known->second;
    if (pool == kDefaultPool || label != prefix + "/pool") change.remove.push_back(label);
    if (pool != kDefaultPool) change.set[prefix + "/pool"] = pool;
    return change;
}

}  // namespace

// POST {pool, move}: a node that is in another pool is only moved if `move` says so.
aio::Task<net::HttpResponse> add_node_to_pool(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    const Result<PoolMove> wanted = pool_move_of(call);
    if (!wanted) co_return problem_reply(wanted.error(), call);
    const ClusterState& state = services.engine.state();
    const NodeFacts* node = find_facts(state, name);
    if (node == nullptr) co_return problem_reply(unknown_node(name), call);
    const std::string before = node->pool;
    const std::string& pool = wanted->pool;
    if (before == pool) {
        co_return json_reply(
            200, pool_reply(name, pool, "node " + name + " is in pool " + pool + " already"));
    }
    const PoolId known = state.tree.find_pool(pool);
    const bool is_new = !known.exists() || !state.tree.pool_exists(known);
    if (before != kDefaultPool && !wanted->moves) {
        const std::string warned =
            is_new ? " (pool " + pool + " does not exist yet; it would be made)" : "";
        co_return problem_reply(
            make_error(ErrorCode::Conflict, "add node " + name + " to pool " + pool +
                                                ": it is in pool " + before +
                                                "; move it with --move (move: true)" + warned),
            call);
    }
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    const Result<bool> moved = co_await move_named_node(*services.policy, name, pool, deadline);
    if (!moved) co_return problem_reply(with_cause(services, moved.error()), call);
    if (*moved) {
        co_return json_reply(200, pool_reply(name, pool, "node " + name + " is in pool " + pool));
    }
    node = find_facts(state, name);
    if (node == nullptr) co_return problem_reply(unknown_node(name), call);
    NodeChange change = change_of_pool(*node, pool, services.settings.label_prefix);
    const Result<void> done = co_await change_node(services, std::move(change));
    if (!done) co_return problem_reply(done.error(), call);
    std::string message = "node " + name + " is in pool " + pool;
    if (before != kDefaultPool) message += ", no longer in pool " + before;
    if (is_new) message += "; the pool is new: the configuration does not name it";
    co_return json_reply(200, pool_reply(name, pool, message));
}

aio::Task<net::HttpResponse> remove_node_from_pool(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    std::string pool = call.parameters.at(1);
    if (pool == "default-pool") pool = kDefaultPool;
    const NodeFacts* node = find_facts(services.engine.state(), name);
    if (node == nullptr) co_return problem_reply(unknown_node(name), call);
    const std::string doing = "remove node " + name + " from pool " + pool + ": ";
    if (node->pool != pool) {
        co_return problem_reply(
            make_error(ErrorCode::Conflict, doing + "it is in pool " + node->pool), call);
    }
    if (pool == kDefaultPool) {
        co_return problem_reply(
            make_error(ErrorCode::Conflict, doing + "pool default has the nodes of no other pool; "
                                                    "add it to another pool instead"),
            call);
    }
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    const Result<bool> moved =
        co_await move_named_node(*services.policy, name, kDefaultPool, deadline);
    if (!moved) co_return problem_reply(with_cause(services, moved.error()), call);
    node = find_facts(services.engine.state(), name);
    if (node == nullptr) co_return problem_reply(unknown_node(name), call);
    if (node->pool != pool) {
        co_return json_reply(200, pool_reply(name, pool,
                                             "node " + name + " is no longer in pool " + pool +
                                                 "; it is in pool " + node->pool));
    }
    NodeChange change = change_of_pool(*node, kDefaultPool, services.settings.label_prefix);
    const Result<void> done = co_await change_node(services, std::move(change));
    if (!done) co_return problem_reply(done.error(), call);
    co_return json_reply(200, pool_reply(name, pool,
                                         "node " + name + " is no longer in pool " + pool +
                                             "; it is in pool default"));
}

namespace {

enum class NodeAction : std::uint8_t { cordon, uncordon, drain };

// What a drain does with the pods of the node.
struct DrainCounts {
    std::int64_t evicted = 0;
    std::int64_t staying = 0;
};

DrainCounts drain_counts(const ClusterState& state, const std::string& name) {
    DrainCounts counts;
    const std::optional<NodeView> node = find_node(state, name);
    if (!node) return counts;
    for (const PodView& pod : node->pods) {
        if (is_terminal(pod.facts.phase) || pod.facts.terminating) continue;
        const bool is_evicted = pod.facts.ours && is_stopped_by(Drain::all, pod.facts);
        ++(is_evicted ? counts.evicted : counts.staying);
    }
    return counts;
}

aio::Task<net::HttpResponse> act_on_node(Services& services, Call call, NodeAction action) {
    const std::string name = call.parameters.at(0);
    if (find_facts(services.engine.state(), name) == nullptr)
        co_return problem_reply(unknown_node(name), call);
    const DrainCounts counts = drain_counts(services.engine.state(), name);
    const std::string drain_label = services.settings.label_prefix + "/drain";
    NodeChange change;
    change.node = name;
    change.overwrite = true;
    change.cordon = action == NodeAction::uncordon ? NodeCordon::uncordon : NodeCordon::cordon;
    if (action == NodeAction::drain) change.set[drain_label] = "true";
    if (action == NodeAction::uncordon) change.remove.push_back(drain_label);
    const Result<void> done = co_await change_node(services, std::move(change));
    if (!done) co_return problem_reply(done.error(), call);
    Json body = {{"node", name}, {"nodeName", name}};
    const std::optional<NodeView> node = find_node(services.engine.state(), name);
    body["status"] = node ? std::string{node_status(*node)} : "gone";
    if (action != NodeAction::drain) {
        body["message"] = "node " + name +
                          (action == NodeAction::cordon ? " takes no new pods; its pods stay"
                                                        : " takes pods again");
        co_return json_reply(200, body);
    }
    body["podsEvicted"] = counts.evicted;
    body["podsNotEvicted"] = counts.staying;
    body["message"] = "node " + name + " takes no new pods; " + std::to_string(counts.evicted) +
                      " of its pods are evicted as their disruption budgets allow, " +
                      std::to_string(counts.staying) +
                      " stay (no controller would create them again, or gpuctl does not "
                      "schedule them)";
    co_return json_reply(200, body);
}

}  // namespace

aio::Task<net::HttpResponse> cordon_node(Services& services, Call call) {
    return act_on_node(services, std::move(call), NodeAction::cordon);
}
aio::Task<net::HttpResponse> uncordon_node(Services& services, Call call) {
    return act_on_node(services, std::move(call), NodeAction::uncordon);
}
aio::Task<net::HttpResponse> drain_node(Services& services, Call call) {
    return act_on_node(services, std::move(call), NodeAction::drain);
}

}  // namespace gpuctl::api
