// Changes of nodes: one at a time for each node, in the order of the requests, none lost.

#include <algorithm>
#include <set>
#include <utility>

#include "sim/swarm/changes/change_checks.hpp"

namespace gpuctl::sim {
namespace {

// A new term drops what was requested longer ago: its user has stopped waiting.
constexpr Duration kAskedAtMost = Duration::seconds(120);

}  // namespace

void ChangeChecks::record_node(const Event& event) {
    if (const auto* seen = std::get_if<NodeObserved>(&event)) nodes_[seen->node.name] = seen->node;
    if (const auto* gone = std::get_if<NodeRemoved>(&event)) nodes_.erase(gone->name);
}

void ChangeChecks::record_request(const NodeChangeRequested& event) {
    const NodeChange& change = event.change;
    const auto node = nodes_.find(change.node);
    if (!leading_ || node == nodes_.end()) return;
    const bool waits = std::any_of(open_.begin(), open_.end(), [&](const OpenChange& open) {
        return open.node == change.node;
    });
    const NodeFacts& facts = node->second;
    if (!waits && (!check_conditions(change, facts.uid, facts.labels) ||
                   is_as_wanted(change, facts.unschedulable, facts.labels)))
        return;
    if (waits) ++probes_.node_changes_queued;
    open_.push_back({event.request, change.node, checker_.reference().now, {}, false});
}

void ChangeChecks::record_answer(const NodeChangeOutcome& outcome) {
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const OpenChange& one) {
        return one.is_sent && one.effect == outcome.effect;
    });
    if (open == open_.end()) return;  // of an earlier term
    if (open->request != outcome.request)
        fail("I27", "change " + open->request + " is answered for " + outcome.request);
    ++probes_.node_changes_answered;
    if (outcome.result == NodeChangeResult::refused) ++probes_.node_changes_refused;
    open_.erase(open);
}

void ChangeChecks::begin_term(Instant now) {
    std::erase_if(open_,
                  [&](const OpenChange& open) { return open.asked_at + kAskedAtMost < now; });
    for (OpenChange& open : open_) {
        if (std::exchange(open.is_sent, false)) ++probes_.node_changes_resent;
    }
}

void ChangeChecks::record_sent(const ChangeNode& effect) {
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const OpenChange& one) {
        return one.request == effect.request;
    });
    if (open == open_.end())
        return fail("I27", "change " + effect.request + " is sent, and was not accepted");
    for (const OpenChange& other : open_) {
        if (other.node == open->node && other.is_sent)
            fail("I27", "changes " + other.request + " and " + effect.request + " of " +
                            other.node + " are carried out at the same time");
    }
    open->is_sent = true;
    open->effect = effect.id;
}

// The engine has the same changes, and the oldest of each node is being carried out.
void ChangeChecks::check_open(const ClusterState& after) {
    const std::vector<OpenNodeChange>& has = after.node_changes.open();
    const bool is_same = std::equal(open_.begin(), open_.end(), has.begin(), has.end(),
                                    [](const OpenChange& a, const OpenNodeChange& b) {
                                        return a.request == b.request && a.node == b.change.node;
                                    });
    if (!is_same) {
        return fail("I27", "the engine has " + std::to_string(has.size()) +
                               " changes of nodes, and " + std::to_string(open_.size()) +
                               " were accepted and not answered");
    }
    if (!leading_) return;
    std::set<std::string> nodes;
    for (const OpenChange& open : open_) {
        const bool is_first = nodes.insert(open.node).second;
        if (is_first && !open.is_sent)
            fail("I27", "change " + open.request + " of " + open.node + " is not sent");
    }
}

void ChangeChecks::check_end(const ClusterState& state) {
    for (const OpenChange& open : open_)
        fail("I27", "change " + open.request + " of " + open.node + " is never answered");
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        if (!state.job(id).seats.empty())
            fail("I14", "job " + to_string(key) + " keeps room that no pod uses");
    }
}

}  // namespace gpuctl::sim
