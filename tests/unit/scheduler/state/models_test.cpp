// Gangs that accept several GPU models: a rank that is created again later (docs/adr/0021).

#include <gtest/gtest.h>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

NodeFacts node_with(const char* name, std::int64_t gpus, const char* model) {
    NodeFacts facts = node(name, gpus);
    facts.gpu_model = model;
    return facts;
}

std::vector<PodFacts> gang_of(int ranks) {
    std::vector<PodFacts> pods = gang("g", ranks, 1);
    for (PodFacts& one : pods) {
        one.rules.gpu_model = "H100";
        one.rules.gpu_models_next = {"A100"};
    }
    return pods;
}

// Two ranks on A100 while the only H100 is in use; then rank 1 is lost, and H100s are free.
struct Returning {
    EngineWorld world;
    PodFacts again;

    explicit Returning(std::int64_t a100s) {
        world.add(node_with("a", a100s, "A100"));
        std::vector<PodFacts> ranks = gang_of(2);
        world.add(ranks);
        world.run();
        EXPECT_EQ(world.node_of("g-1"), "a");
        world.add(node_with("h", 4, "H100"));
        world.remove_pod("g-1");
        again = ranks[1];
        again.uid = "g-1-again";
    }
};

TEST(Models, a_recreated_rank_is_placed_on_the_model_of_the_other_ranks) {
    Returning gang{2};
    gang.world.add(gang.again);
    gang.world.run();
    EXPECT_EQ(gang.world.node_of("g-1-again"), "a");
}

TEST(Models, a_recreated_rank_waits_for_that_model_although_a_preferred_one_is_free) {
    Returning gang{2};
    gang.world.add(pod("other", "", 1));
    gang.world.run();  // both models are possible: fill the rest of A100
    PodFacts filler = pod("filler", "", 1);
    filler.rules.gpu_model = "A100";
    gang.world.add(filler);
    gang.world.run();
    const bool is_full = gang.world.node_of("other") == "a" || gang.world.node_of("filler") == "a";
    ASSERT_TRUE(is_full);
    gang.world.add(gang.again);
    gang.world.run();
    EXPECT_EQ(gang.world.node_of("g-1-again"), "");
    const std::vector<Explanation> why = gang.world.why("g");
    ASSERT_FALSE(why.empty());
    EXPECT_NE(
        wording::sentence(why.front()).find("model of its other ranks: A100 has 0 of 2 GPUs free"),
        std::string::npos)
        << wording::sentence(why.front());
    gang.world.remove_pod(gang.world.node_of("other") == "a" ? "other" : "filler");
    gang.world.run();
    EXPECT_EQ(gang.world.node_of("g-1-again"), "a");
}

TEST(Models, a_gang_is_not_placed_on_two_models) {
    EngineWorld world;
    world.add(node_with("a", 1, "A100"));
    world.add(node_with("h", 1, "H100"));
    world.add(gang_of(2));
    world.run();
    EXPECT_TRUE(world.sent<BindPod>().empty());
    const ClusterState& state = world.engine.state();
    std::vector<Placement> round;
    for (const char* uid : {"g-0", "g-1"}) {
        const NodeId on = state.nodes.find_node(round.empty() ? "a" : "h");
        round.push_back({state.pods.find_pod(uid), on, kNoDevice});
    }
    EXPECT_TRUE(state.gangs.mixes_models(round));
    round[1].node = round[0].node;
    EXPECT_FALSE(state.gangs.mixes_models(round));
}

}  // namespace
}  // namespace gpuctl::test
