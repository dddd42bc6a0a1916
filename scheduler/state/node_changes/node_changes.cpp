#include "scheduler/state/node_changes/node_changes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// The user of a change stops waiting long before.
constexpr Duration kOpenMaximum = Duration::seconds(120);

}  // namespace

bool NodeChanges::has_open(std::string_view node) const {
    return std::any_of(open_.begin(), open_.end(),
                       [&](const OpenNodeChange& open) { return open.change.node == node; });
}

Result<bool> NodeChanges::check(const NodeChangeRequested& event) const {
    const NodeChange& change = event.change;
    const auto refused = [](ErrorCode code) { return Error{code, {}, {}}; };
    if (!state_.session.leading()) return refused(ErrorCode::NotLeader);
    const NodeId id = state_.nodes.find_node(change.node);
    if (!id.exists() || !state_.node(id).known) return refused(ErrorCode::NodeNotFound);
    if (open_.size() >= kNodeChangesMaximum) return refused(ErrorCode::TooManyRequests);
    // What an older change leaves is known to the cluster alone.
    if (has_open(change.node)) return true;
    const NodeFacts& facts = state_.node(id).facts;
    if (const auto fits = check_conditions(change, facts.uid, facts.labels); !fits)
        return fits.error();
    return !is_as_wanted(change, facts.unschedulable, facts.labels);
}

void NodeChanges::on(const NodeChangeRequested& event, EffectList& effects) {
    const Result<bool> agreed = check(event);
    if (!agreed || !*agreed) return;
    open_.push_back({event.request, event.change, state_.session.event_time(), false, {}});
    send_next(event.change.node, effects);
}

void NodeChanges::on(const NodeChangeOutcome& event, EffectList& effects) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const OpenNodeChange& open) {
        return open.in_flight && open.effect == event.effect;
    });
    if (found == open_.end()) return;  // of an earlier term
    const std::string node = found->change.node;
    open_.erase(found);
    if (!has_fault(SeededFault::forget_waiting_node_changes)) send_next(node, effects);
}

void NodeChanges::send_again(EffectList& effects) {
    const Instant now = state_.session.event_time();
    std::erase_if(open_,
                  [&](const OpenNodeChange& open) { return open.asked_at + kOpenMaximum < now; });
    if (has_fault(SeededFault::forget_open_node_changes)) return;
    std::set<std::string> nodes;
    for (OpenNodeChange& open : open_) {
        open.in_flight = false;
        nodes.insert(open.change.node);
    }
    for (const std::string& node : nodes) send_next(node, effects);
}

void NodeChanges::send_next(std::string_view node, EffectList& effects) {
    for (OpenNodeChange& open : open_) {
        if (open.change.node != node) continue;
        const bool is_sent = open.in_flight;
        if (!is_sent) send(open, effects);
        if (!has_fault(SeededFault::send_node_changes_together)) return;
    }
}

void NodeChanges::send(OpenNodeChange& open, EffectList& effects) {
    open.in_flight = true;
    open.effect = state_.session.next_effect();
    effects.add(ChangeNode{open.effect, state_.session.epoch(), open.request, open.change});
}

bool NodeChanges::restore(std::vector<OpenNodeChange> open, Key<StateReader>) {
    std::set<std::string> busy;
    for (const OpenNodeChange& one : open) {
        if (one.change.node.empty() || one.change.cordon > NodeCordon::uncordon) return false;
        if (one.in_flight && !busy.insert(one.change.node).second) return false;
    }
    open_ = std::move(open);
    return true;
}

}  // namespace gpuctl
