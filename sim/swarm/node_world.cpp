#include "sim/swarm/node_world.hpp"

#include <utility>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::sim {
namespace {

constexpr std::size_t kViolationsOfNodes = 5;
constexpr std::int64_t kNodes = 3;

Settings settings_of(std::uint64_t seed) {
    Settings settings;
    settings.seed = seed;
    settings.api_latency_min = Duration{5};
    settings.api_latency_max = Duration{400};
    return settings;
}

// As wide as the number, so that the order of names is that of the requests.
std::string name_of(std::uint64_t request) {
    const std::string digits = std::to_string(request);
    return "r" + std::string(6 - digits.size(), '0') + digits;
}

}  // namespace

NodeWorld::NodeWorld(std::uint64_t seed) : rng_(seed), cluster_(settings_of(seed)) {
    happen(LeadershipChanged{true, Epoch{epoch_}});
    for (std::int64_t i = 0; i < kNodes; ++i) {
        NodeFacts node;
        node.name = "node-" + std::to_string(i);
        node.pool = "default";
        node.allocatable.pods = 10;
        std::vector<Event> out;
        cluster_.apply(NodeJoins{node}, now_, out);
        for (Event& event : out) happen(std::move(event));
    }
    happen(CacheSynced{});
}

void NodeWorld::run(int actions) {
    for (int i = 0; i < actions; ++i) act();
    // In one term without a restart: everything that was sent is answered.
    begin_term();
    pass_time(Duration::seconds(60));
    for (const OpenNodeChange& open : engine_.state().node_changes.open())
        fail("answers",
             "change " + open.request + " of " + open.change.node + " is never answered");
}

void NodeWorld::act() {
    const std::int64_t what = rng_.between(0, 9);
    if (what < 5) return request_change();
    if (what == 5) return begin_term();
    if (what == 6) return restart();
    pass_time(Duration{rng_.between(1, 300)});
}

void NodeWorld::request_change() {
    NodeChange change;
    change.node = "node-" + std::to_string(rng_.between(0, kNodes - 1));
    change.overwrite = true;
    change.set["team"] = "t" + std::to_string(rng_.between(0, 5));
    if (rng_.chance(1, 4)) change.cordon = NodeCordon::cordon;
    if (rng_.chance(1, 4)) change.cordon = NodeCordon::uncordon;
    for (const auto& [id, sent] : in_flight_) {
        if (sent.node == change.node) ++probes_.waited;
    }
    ++probes_.requests;
    happen(NodeChangeRequested{name_of(++requests_), std::move(change)});
}

// Answers to what an earlier term sent may still come.
void NodeWorld::begin_term() {
    happen(LeadershipChanged{false, Epoch{epoch_}});
    probes_.sent_again += in_flight_.size();
    in_flight_.clear();
    last_sent_.clear();
    happen(LeadershipChanged{true, Epoch{++epoch_}});
}

void NodeWorld::restart() {
    Result<Engine> revived = Engine::import_state(engine_.export_state());
    if (!revived) return fail("I12", "the state cannot be read: " + revived.error().message);
    engine_ = std::move(*revived);
    ++probes_.restarts;
    for (const auto& [id, sent] : in_flight_) lost_.insert(id);
    begin_term();
}

void NodeWorld::pass_time(Duration span) {
    const Instant until = now_ + span;
    while (true) {
        const auto due = cluster_.next_due();
        now_ = due && *due < until ? std::max(*due, now_) : until;
        std::vector<Event> out;
        cluster_.advance(now_, out);
        for (Event& event : out) {
            const auto* outcome = std::get_if<NodeChangeOutcome>(&event);
            if (outcome == nullptr || !lost_.contains(outcome->effect)) happen(std::move(event));
        }
        if (out.empty() && now_ == until) return;
    }
}

void NodeWorld::happen(Event event) {
    if (const auto* outcome = std::get_if<NodeChangeOutcome>(&event)) note_answered(*outcome);
    EffectList effects;
    ++sequence_;
    engine_.step(Input{Sequence{sequence_}, now_, sequence_, std::move(event)}, effects);
    for (Violation& wrong : verify(engine_.state()))
        fail(std::move(wrong.id), std::move(wrong.what));
    for (const Effect& effect : effects) {
        if (const auto* change = std::get_if<ChangeNode>(&effect)) note_sent(*change);
        std::vector<Event> out;
        cluster_.carry_out(effect, now_, out);
        for (Event& made : out) happen(std::move(made));
    }
}

void NodeWorld::note_sent(const ChangeNode& effect) {
    for (const auto& [id, sent] : in_flight_) {
        if (sent.node != effect.change.node) continue;
        fail("order of changes", "changes " + sent.request + " and " + effect.request + " of " +
                                     sent.node + " are carried out at the same time");
    }
    std::string& last = last_sent_[effect.change.node];
    if (effect.request <= last) {
        fail("order of changes",
             "change " + effect.request + " of " + effect.change.node + " is sent after " + last);
    }
    last = effect.request;
    in_flight_[effect.id] = {effect.change.node, effect.request};
}

void NodeWorld::note_answered(const NodeChangeOutcome& outcome) {
    if (in_flight_.erase(outcome.effect) > 0) ++probes_.answered;
}

void NodeWorld::fail(std::string id, std::string what) {
    if (violations_.size() < kViolationsOfNodes)
        violations_.push_back({std::move(id), std::move(what)});
}

}  // namespace gpuctl::sim
