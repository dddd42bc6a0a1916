#pragma once
// Small random worlds in which users change nodes: several requests for the same node at once,
// answers in any order, new terms, restarts. Every step is checked: at most one change of a node is
// carried out at a time, in the order of the requests, and in the end every change was answered.
// The larger worlds (random_world.hpp) draw no changes of nodes, so that their decisions stay those
// of tests/golden/decisions.txt.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/base/rng.hpp"
#include "scheduler/engine/engine.hpp"
#include "scheduler/state/invariants/invariants.hpp"
#include "sim/cluster.hpp"

namespace gpuctl::sim {

struct NodeProbes {
    std::uint64_t requests = 0;
    std::uint64_t answered = 0;
    std::uint64_t waited = 0;  // requests for a node that is being changed
    std::uint64_t sent_again = 0;
    std::uint64_t restarts = 0;
};

class NodeWorld {
public:
    explicit NodeWorld(std::uint64_t seed);

    // Random requests, then all answers arrive.
    void run(int actions);

    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    [[nodiscard]] const NodeProbes& probes() const { return probes_; }

private:
    struct Sent {
        std::string node;
        std::string request;
    };

    void act();
    void request_change();
    void begin_term();
    void restart();
    void pass_time(Duration span);
    void happen(Event event);
    void note_sent(const ChangeNode& effect);
    void note_answered(const NodeChangeOutcome& outcome);
    void fail(std::string id, std::string what);

    Rng rng_;
    Instant now_{1'000'000};
    std::uint64_t sequence_ = 0;
    std::uint64_t epoch_ = 1;
    std::uint64_t requests_ = 0;
    Engine engine_;
    Cluster cluster_;
    std::map<EffectId, Sent> in_flight_;  // of this term
    std::set<EffectId> lost_;             // their outcomes died with the process that had sent them
    std::map<std::string, std::string> last_sent_;  // by node: the newest request
    NodeProbes probes_;
    std::vector<Violation> violations_;
};

}  // namespace gpuctl::sim
