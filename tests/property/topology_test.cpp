// Racks and blocks in small worlds, against every way to place ranks on nodes: a gang that requires
// one rack starts exactly if some rack can hold it, `preferred` uses the smallest possible number
// of racks, spread ranks are apart, and every number of a refusal is recounted.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

constexpr const char* kRacks[] = {"r1", "r2", "r3"};

struct Place {
    std::int64_t gpus = 0;
    std::string rack;
    std::string block;
};
using Ranks = std::vector<std::int64_t>;  // GPUs of each rank

// Tries every assignment of ranks to nodes that the rules allow, and finds the smallest number of
// racks.
class Oracle {
public:
    Oracle(std::vector<Place> nodes, Ranks ranks, TopologyRules rules, std::set<std::size_t> others)
        : nodes_(std::move(nodes)),
          ranks_(std::move(ranks)),
          rules_(rules),
          others_(std::move(others)) {}

    std::optional<std::size_t> fewest_racks() {
        best_.reset();
        try_rank(0);
        return best_;
    }

private:
    std::string domain(std::size_t node, TopologyLevel level) const {
        if (level == TopologyLevel::rack) return nodes_[node].rack;
        if (level == TopologyLevel::block) return nodes_[node].block;
        return "host-" + std::to_string(node);
    }
    bool is_allowed(std::size_t node) const {
        if (rules_.required != TopologyLevel::none) {
            const std::string here = domain(node, rules_.required);
            if (here.empty()) return false;
            for (const std::size_t other : chosen_) {
                if (domain(other, rules_.required) != here) return false;
            }
            bool is_near = others_.empty();
            for (const std::size_t other : others_) {
                is_near = is_near || domain(other, rules_.required) == here;
            }
            if (!is_near) return false;
        }
        if (rules_.spread == TopologyLevel::none) return true;
        const std::string here = domain(node, rules_.spread);
        const auto shares = [&](std::size_t other) { return domain(other, rules_.spread) == here; };
        return !here.empty() && std::none_of(chosen_.begin(), chosen_.end(), shares) &&
               std::none_of(others_.begin(), others_.end(), shares);
    }
    void try_rank(std::size_t rank) {
        if (rank == ranks_.size()) {
            std::set<std::string> racks;
            for (const std::size_t node : chosen_) {
                // A node without a known rack counts as a rack of its own.
                racks.insert(nodes_[node].rack.empty() ? "?" + std::to_string(node)
                                                       : nodes_[node].rack);
            }
            if (!best_ || racks.size() < *best_) best_ = racks.size();
            return;
        }
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (nodes_[node].gpus < ranks_[rank] || !is_allowed(node)) continue;
            nodes_[node].gpus -= ranks_[rank];
            chosen_.push_back(node);
            try_rank(rank + 1);
            chosen_.pop_back();
            nodes_[node].gpus += ranks_[rank];
        }
    }

    std::vector<Place> nodes_;
    Ranks ranks_;
    TopologyRules rules_;
    std::set<std::size_t> others_;  // nodes with other ranks of the job
    std::vector<std::size_t> chosen_;
    std::optional<std::size_t> best_;
};

std::string name_of(std::size_t node) { return "n" + std::to_string(node); }

std::vector<Place> draw_nodes(Rng& rng) {
    std::vector<Place> out;
    const std::int64_t nodes = rng.between(2, 5);
    for (std::int64_t i = 0; i < nodes; ++i) {
        Place place{rng.between(1, 4), "", ""};
        if (!rng.chance(1, 8)) {
            const std::uint64_t rack = rng.below(3);
            place.rack = kRacks[rack];
            place.block = rack < 2 ? "b1" : "b2";
        }
        out.push_back(place);
    }
    return out;
}

TopologyRules draw_rules(Rng& rng) {
    constexpr TopologyLevel levels[] = {TopologyLevel::none, TopologyLevel::host,
                                        TopologyLevel::rack, TopologyLevel::block};
    for (;;) {
        const TopologyRules rules{levels[rng.below(4)], levels[rng.below(4)], levels[rng.below(4)]};
        if (rules.any() && problem_with(rules).empty()) return rules;
    }
}

void build(EngineWorld& world, const std::vector<Place>& places) {
    world.verify_steps = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
        NodeFacts facts = node(name_of(i), places[i].gpus);
        facts.topology.rack = places[i].rack;
        facts.topology.block = places[i].block;
        world.add(facts);
    }
}

std::vector<PodFacts> make_ranks(const Ranks& ranks, const TopologyRules& rules) {
    std::vector<PodFacts> all = gang("g", static_cast<int>(ranks.size()), 0);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        all[rank].request = room(ranks[rank], 1, 1, 1);
        all[rank].rules.topology = rules;
    }
    return all;
}

std::size_t node_number(const std::string& name) { return std::stoul(name.substr(1)); }

std::string reasons_of(const EngineWorld& world) {
    const auto view = find_job(world.engine.state(), "team-a", "g");
    return view && view->waiting ? wording::sentence(*view->waiting) : "";
}

TEST(Topology, a_gang_starts_exactly_when_its_ranks_can_be_together_and_apart_as_they_ask) {
    Rng rng{19};
    int placed = 0;
    int refused_by_topology = 0;
    for (int world_number = 0; world_number < 6'000; ++world_number) {
        const std::vector<Place> places = draw_nodes(rng);
        const TopologyRules rules = draw_rules(rng);
        Ranks ranks(static_cast<std::size_t>(rng.between(2, 4)), rng.between(1, 3));
        const bool is_mixed = rng.chance(1, 4);
        if (is_mixed) ranks.back() = rng.between(1, 3);
        EngineWorld world;
        build(world, places);
        world.add(make_ranks(ranks, rules));
        world.plan();
        const std::optional<std::size_t> fewest = Oracle{places, ranks, rules, {}}.fewest_racks();
        const bool was_placed = !world.node_of("g-0").empty();
        ASSERT_EQ(was_placed, fewest.has_value())
            << "world " << world_number << ": " << reasons_of(world);
        if (!was_placed) {
            ++refused_by_topology;
            continue;
        }
        ++placed;
        if (rules.preferred != TopologyLevel::rack) continue;
        std::set<std::string> racks;
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            const std::string on = world.node_of("g-" + std::to_string(rank));
            const Place& place = places[node_number(on)];
            racks.insert(place.rack.empty() ? "?" + on : place.rack);
        }
        // For ranks of one size the number of racks is minimal; for several sizes only a single
        // rack is found.
        const bool all_known = std::none_of(places.begin(), places.end(),
                                            [](const Place& place) { return place.rack.empty(); });
        if (!is_mixed || (*fewest == 1 && all_known)) {
            ASSERT_EQ(racks.size(), *fewest) << "world " << world_number;
        }
    }
    EXPECT_GT(placed, 1'000);
    EXPECT_GT(refused_by_topology, 1'000);
}

TEST(Topology, a_lost_rank_returns_to_the_domain_of_its_gang_or_waits) {
    Rng rng{23};
    int back = 0;
    int waits = 0;
    for (int world_number = 0; world_number < 3'000; ++world_number) {
        std::vector<Place> places = draw_nodes(rng);
        const TopologyRules rules = draw_rules(rng);
        const Ranks ranks(static_cast<std::size_t>(rng.between(2, 4)), rng.between(1, 3));
        EngineWorld world;
        build(world, places);
        world.add(make_ranks(ranks, rules));
        world.run();
        if (world.node_of("g-0").empty()) continue;
        const std::string lost = "g-" + std::to_string(ranks.size() - 1);
        const std::size_t on = node_number(world.node_of(lost));
        // Another pod takes the room of the rank before the rank is back.
        PodFacts other = pod("other", "", ranks[0]);
        other.ours = false;
        other.node = name_of(on);
        world.remove_pod(lost);
        world.add(other);
        std::set<std::size_t> others;
        for (std::size_t rank = 0; rank + 1 < ranks.size(); ++rank) {
            const std::size_t at = node_number(world.node_of("g-" + std::to_string(rank)));
            others.insert(at);
            places[at].gpus -= ranks[rank];
        }
        places[on].gpus -= ranks[0];
        PodFacts again = make_ranks(ranks, rules).back();
        again.uid = again.key.name = "g-again";
        world.add(again);
        world.run();
        const bool possible = Oracle{places, {ranks[0]}, rules, others}.fewest_racks().has_value();
        ASSERT_EQ(!world.node_of("g-again").empty(), possible)
            << "world " << world_number << ": " << reasons_of(world);
        ++(possible ? back : waits);
    }
    EXPECT_GT(back, 200);
    EXPECT_GT(waits, 200);
}

// Recounts the room of each rack from the facts.
TEST(Topology, every_number_of_a_refusal_is_what_the_racks_have) {
    Rng rng{29};
    int recounted = 0;
    for (int world_number = 0; world_number < 3'000; ++world_number) {
        const std::vector<Place> places = draw_nodes(rng);
        const std::int64_t each = rng.between(1, 4);
        const std::int64_t ranks = rng.between(2, 4);
        EngineWorld world;
        build(world, places);
        world.add(make_ranks(Ranks(static_cast<std::size_t>(ranks), each),
                             {TopologyLevel::rack, TopologyLevel::none, TopologyLevel::none}));
        world.plan();
        const auto view = find_job(world.engine.state(), "team-a", "g");
        if (!view->waiting || view->waiting->reason != Reason::topology_insufficient) continue;
        ++recounted;
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> racks;  // ranks, GPUs
        for (const Place& place : places) {
            if (place.rack.empty()) continue;
            racks[place.rack].first += place.gpus / each;
            racks[place.rack].second += place.gpus;
        }
        std::pair<std::int64_t, std::int64_t> most{0, 0};
        for (const auto& [name, has] : racks) most = std::max(most, has);
        std::map<std::string, std::int64_t> figures;
        for (const Figure& one : view->waiting->figures) figures[one.name] = one.value;
        EXPECT_LT(most.first, ranks);
        EXPECT_EQ(figures["domains"], static_cast<std::int64_t>(racks.size()));
        EXPECT_EQ(figures["ranks_fitting_in_one_domain"], most.first);
        EXPECT_EQ(figures["gpus_free_in_one_domain"], most.second * kGpuMilliPerGpu);
        EXPECT_NE(wording::sentence(*view->waiting).find("rack " + view->waiting->subject + " has"),
                  std::string::npos)
            << wording::sentence(*view->waiting);
        EXPECT_EQ(racks[view->waiting->subject], most);
    }
    EXPECT_GT(recounted, 100);
}

}  // namespace
}  // namespace gpuctl::test
