// Work without GPUs on nodes with GPUs: it is packed, and leaves each idle GPU the other resources
// that work with GPUs needs (docs/adr/0015).

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

constexpr const char* kStorage = "ephemeral-storage";

class PackingTest : public testing::Test {
protected:
    PackingTest() {
        world.verify_steps = false;  // once, at the end
        Policy policy;
        policy.pods_reserved_per_node = 2;
        world.set(policy);
        for (int i = 0; i < 6; ++i) {
            NodeFacts facts = node("n" + std::to_string(i), 8);
            facts.allocatable.extended = {{kStorage, 400LL << 30}};
            world.add(facts);
        }
    }
    ~PackingTest() override {
        for (const Violation& wrong : verify(world.engine.state())) {
            ADD_FAILURE() << wrong.id << ": " << wrong.what;
        }
    }
    static PodFacts small(const std::string& uid, std::int64_t cpu_milli,
                          std::int64_t storage = 0) {
        PodFacts facts = pod(uid, "Deployment.1:small", 0);
        facts.request.cpu = CpuMilli{cpu_milli};
        facts.request.memory = Bytes{100LL << 20};
        if (storage > 0) facts.request.extended = {{kStorage, storage}};
        return facts;
    }
    // Adds the pods, places them, and counts those on each node that has some.
    std::map<std::string, int> place(const std::vector<PodFacts>& pods) {
        world.add(pods);
        world.run();
        std::map<std::string, int> on;
        for (const PodFacts& facts : pods) {
            const std::string name = world.node_of(facts.uid);
            if (!name.empty()) ++on[name];
        }
        return on;
    }
    std::map<std::string, int> deploy(int replicas, std::int64_t cpu_milli,
                                      std::int64_t storage = 0) {
        std::vector<PodFacts> pods;
        for (int i = 0; i < replicas; ++i) {
            pods.push_back(small("small-" + std::to_string(i), cpu_milli, storage));
        }
        return place(pods);
    }
    // One pod for each of the 48 GPUs; returns how many find room.
    int fill_gpus(std::int64_t cpu_milli, std::int64_t storage = 0) {
        std::vector<PodFacts> pods;
        for (int i = 0; i < 48; ++i) {
            PodFacts facts = pod("gpu-" + std::to_string(i), "Job:gpus", 1);
            facts.request.cpu = CpuMilli{cpu_milli};
            if (storage > 0) facts.request.extended = {{kStorage, storage}};
            pods.push_back(std::move(facts));
        }
        int sum = 0;
        for (const auto& [name, count] : place(pods)) sum += count;
        return sum;
    }
    EngineWorld world;
};

TEST_F(PackingTest, three_hundred_small_pods_leave_a_pod_slot_for_each_gpu) {
    const std::map<std::string, int> on{{"n0", 100}, {"n1", 100}, {"n2", 100}};
    EXPECT_EQ(deploy(300, 100), on) << "110 slots, 2 kept for DaemonSets, 8 GPUs";
    EXPECT_EQ(fill_gpus(1'000), 48);
}

TEST_F(PackingTest, a_resource_that_is_not_scarce_does_not_change_packing) {
    const std::map<std::string, int> on{{"n0", 90}};
    EXPECT_EQ(deploy(90, 100), on);
}

TEST_F(PackingTest, slots_next_to_idle_gpus_are_used_once_all_other_slots_are_in_use) {
    EXPECT_EQ(deploy(6 * 108, 100).size(), 6U);
    EXPECT_EQ(fill_gpus(1'000), 0);
}

class SlotsLeft : public PackingTest, public testing::WithParamInterface<int> {};

// One pod uses the GPUs of a whole node: a slot on each node is worth more than six on one.
TEST_P(SlotsLeft, are_spread_for_pods_of_several_gpus) {
    const int left = 6 * 8 / GetParam();
    deploy(6 * 108 - left, 100);
    std::vector<PodFacts> large;
    for (int i = 0; i < left; ++i) {
        large.push_back(pod("large-" + std::to_string(i), "Job:large", GetParam()));
        large.back().request.cpu = CpuMilli{100};
    }
    int placed = 0;
    for (const auto& [name, count] : place(large)) placed += count;
    EXPECT_EQ(placed, left);
}
INSTANTIATE_TEST_SUITE_P(Sizes, SlotsLeft, testing::Values(2, 4, 8));

TEST_F(PackingTest, ephemeral_storage_is_left_for_each_idle_gpu) {
    deploy(120, 100, 10LL << 30);
    EXPECT_EQ(fill_gpus(1'000, 5LL << 30), 48);
}

TEST_F(PackingTest, cpu_is_left_for_each_idle_gpu) {
    deploy(120, 1'500);
    EXPECT_EQ(fill_gpus(1'500), 48);
}

TEST_F(PackingTest, any_resource_of_gpu_nodes_is_left_for_each_idle_gpu) {
    for (int i = 0; i < 6; ++i) {
        NodeFacts facts = world.nodes.at("n" + std::to_string(i));
        facts.allocatable.extended = {{"rdma/hca", 16}};
        world.add(facts);
    }
    std::vector<PodFacts> pods;
    for (int i = 0; i < 48; ++i) {
        PodFacts facts = small("small-" + std::to_string(i), 100);
        facts.request.extended = {{"rdma/hca", 1}};
        pods.push_back(std::move(facts));
    }
    for (const auto& [name, count] : place(pods)) EXPECT_LE(count, 12) << name;
}

TEST_F(PackingTest, a_gang_without_gpus_leaves_a_pod_slot_for_each_gpu) {
    std::vector<PodFacts> ranks = gang("gang:mpi", 300, 0);
    for (PodFacts& rank : ranks) rank.request.cpu = CpuMilli{100};
    std::map<std::string, int> on = place(ranks);
    int sum = 0;
    for (const auto& [name, count] : on) sum += count;
    EXPECT_EQ(sum, 300);
    EXPECT_EQ(fill_gpus(1'000), 48);
}

TEST_F(PackingTest, a_gang_that_strands_nothing_is_on_one_node) {
    std::vector<PodFacts> ranks = gang("gang:mpi", 40, 0);
    EXPECT_EQ(place(ranks).size(), 1U);
}

TEST_F(PackingTest, a_gang_that_fits_only_where_it_strands_gpus_is_placed_anyway) {
    std::vector<PodFacts> ranks = gang("gang:mpi", 6 * 108, 0);
    for (PodFacts& rank : ranks) rank.request.cpu = CpuMilli{100};
    EXPECT_EQ(place(ranks).size(), 6U);
}

TEST_F(PackingTest, work_without_gpus_prefers_nodes_without_idle_gpus) {
    NodeFacts plain = node("plain", 0);
    world.add(plain);
    const std::map<std::string, int> on{{"plain", 100}};
    EXPECT_EQ(deploy(100, 100), on);
}

}  // namespace
}  // namespace gpuctl::test
