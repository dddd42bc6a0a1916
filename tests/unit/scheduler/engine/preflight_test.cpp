// What is reported at once about a job that could never start.

#include <gtest/gtest.h>

#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

JobSpec training(std::int64_t gpus, std::int32_t ranks = 1) {
    JobSpec spec;
    spec.key = {"team-a", "llm"};
    spec.gpu.mode = GpuMode::exclusive;
    spec.gpu.count = gpus;
    spec.gpu.amount = whole_gpus(gpus);
    spec.gpu.vendor = "nvidia";
    spec.gpu.resource = kGpu;
    spec.cpu = CpuMilli{5'000};
    spec.memory = Bytes{std::int64_t{1} << 30};
    spec.replicas_min = spec.replicas_max = ranks;
    return spec;
}

std::string said(const EngineWorld& world, const JobSpec& spec) {
    const std::optional<Refusal> refused = preflight(world.engine.state(), spec);
    return refused ? wording::error_of(*refused).message : "";
}

TEST(Preflight, ranks_whose_topology_rules_can_never_hold_are_refused) {
    EngineWorld world;
    for (const char* name : {"a", "b", "c"}) {
        NodeFacts one = node(name, 8);
        one.topology = {name, "", std::string{name} == "c" ? "r2" : "r1", ""};
        world.add(one);
    }
    JobSpec wide = training(4, 4);
    wide.topology.required = TopologyLevel::host;
    EXPECT_TRUE(
        said(world, wide)
            .ends_with(" each, within one host; host a has most room; pool default has room for "
                       "2 even when empty"))
        << said(world, wide);
    wide.topology.required = TopologyLevel::rack;
    EXPECT_EQ(said(world, wide), "");
    wide.topology.spread = TopologyLevel::host;
    EXPECT_TRUE(said(world, wide)
                    .ends_with(" each, no two in one host, within one rack; rack r1 has most room; "
                               "pool default has room for 2 even when empty"))
        << said(world, wide);
    wide.replicas_min = wide.replicas_max = 2;
    EXPECT_EQ(said(world, wide), "");
    wide.topology.required = TopologyLevel::none;
    wide.replicas_min = wide.replicas_max = 3;
    EXPECT_EQ(said(world, wide), "");
}

TEST(Preflight, one_rank_that_requires_a_rack_needs_a_node_in_a_rack) {
    EngineWorld world;
    world.add(node("a", 8));
    JobSpec one = training(4, 1);
    one.topology.required = TopologyLevel::rack;
    EXPECT_TRUE(said(world, one)
                    .ends_with(", within one rack; pool default has no such node even when empty"))
        << said(world, one);
    one.topology = {};
    one.topology.spread = TopologyLevel::rack;
    EXPECT_EQ(said(world, one), "");
    NodeFacts racked = node("b", 8);
    racked.topology.rack = "r1";
    world.add(racked);
    one.topology.required = TopologyLevel::rack;
    EXPECT_EQ(said(world, one), "");
}

TEST(Preflight, a_gpu_model_that_no_node_has_is_refused_in_either_form) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("plain", 0));
    NodeFacts other = node("b", 8);
    other.gpu_model = "V100";
    world.add(other);
    JobSpec typed = training(1);
    typed.gpu_type = "H100";
    JobSpec modelled = training(1);
    modelled.gpu.model = "H100";
    for (const JobSpec& spec : {typed, modelled}) {
        EXPECT_TRUE(said(world, spec)
                        .ends_with("; no node of pool default has a GPU of model H100; existing "
                                   "models: A100, V100"))
            << said(world, spec);
    }
    typed.gpu_type = "v100";
    EXPECT_EQ(said(world, typed), "");
}

TEST(Preflight, ranks_may_share_a_node_and_are_not_called_nodes) {
    EngineWorld world;
    world.add(node("a", 8));
    EXPECT_EQ(said(world, training(4, 2)), "");
    const std::string text = said(world, training(4, 3));
    EXPECT_TRUE(text.starts_with("the job requests 3 ranks of 4 nvidia.com/gpu")) << text;
    EXPECT_TRUE(text.ends_with("the pool has room for 2 even when empty")) << text;
}

TEST(Preflight, a_quota_is_named_with_its_number) {
    EngineWorld world;
    world.add(node("a", 8));
    Policy policy;
    TenantPolicy tenant;
    tenant.name = "team-a";
    tenant.cpu_maximum = CpuMilli{4'000};
    policy.tenants = {tenant};
    world.set(policy);
    EXPECT_EQ(said(world, training(1)),
              "the job requests 1 pod of 5 CPU; namespace team-a may hold at most 4 CPU");
    policy.tenants[0].cpu_maximum.reset();
    policy.tenants[0].memory_maximum = Bytes{std::int64_t{3} << 29};
    world.set(policy);
    EXPECT_EQ(said(world, training(1, 2)),
              "the job requests 2 pods of 1Gi memory; namespace team-a may hold at most 1536Mi "
              "memory");
}

TEST(Preflight, guarantees_that_other_queues_do_not_lend_are_subtracted) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    PoolPolicy pool;
    pool.name = kDefaultPool;
    const auto add = [&pool](const std::string& name, const std::string& parent) -> QueuePolicy& {
        QueuePolicy& queue = pool.queues.emplace_back();
        queue.name = name;
        queue.parent = parent;
        return queue;
    };
    add("r", "").maximum = whole_gpus(8);
    add("x", "r");
    QueuePolicy& keeps = add("y", "r");
    keeps.guaranteed = whole_gpus(3);
    keeps.lending_limit = GpuMilli{};
    add("z", "");
    Policy policy;
    policy.pools = {pool};
    world.set(policy);
    JobSpec job = training(4, 2);
    job.queue = "x";
    EXPECT_EQ(said(world, job),
              "the job requests 2 pods of 4 GPUs; queue r/x, outside the 3 of 8 GPUs that queues "
              "of queue r do not lend, may hold at most 5");
    job.replicas_min = 1;
    EXPECT_EQ(said(world, job), "");
    job = training(7, 2);
    job.queue = "z";
    EXPECT_EQ(said(world, job),
              "the job requests 2 pods of 7 GPUs; queue z, outside the 3 of 16 GPUs that queues of "
              "pool default do not lend, may hold at most 13");
    job.gpu.amount = whole_gpus(6);
    job.queue = "z";
    EXPECT_EQ(said(world, job), "");
    job = training(3);
    job.queue = "y";
    EXPECT_EQ(said(world, job), "") << "its own guarantee";
}

TEST(Preflight, a_refused_slice_is_reported_with_a_node_that_has_slices) {
    EngineWorld world;
    world.add(node("whole", 8));
    NodeFacts cut = node("cut", 0);
    cut.allocatable.gpus = {{"nvidia.com/mig-1g.10gb", GpuMilli{1'000}}};
    world.add(cut);
    JobSpec spec = training(1);
    spec.gpu.resource = "nvidia.com/mig-3g.40gb";
    EXPECT_NE(said(world, spec).find("(cut) has 1 nvidia.com/mig-1g.10gb"), std::string::npos)
        << said(world, spec);
}

TEST(Preflight, the_limit_of_the_only_gpu_model_applies_to_jobs_that_name_none) {
    EngineWorld world;
    world.add(node("a", 8));
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    QueuePolicy queue;
    queue.name = "default";
    queue.models = {{"A100", GpuMilli{}, whole_gpus(5)}};
    pool.queues = {queue};
    policy.pools = {pool};
    world.set(policy);
    EXPECT_EQ(said(world, training(6)),
              "the job requests 1 pod of 6 GPUs; queue default of pool default may hold at most 5 "
              "of model A100");
    EXPECT_EQ(said(world, training(5)), "");
    NodeFacts other = node("b", 8);
    other.gpu_model = "V100";
    world.add(other);
    EXPECT_EQ(said(world, training(6)), "") << "the other model has no limit";
}

TEST(Preflight, the_named_node_offers_most_of_what_is_requested) {
    EngineWorld world;
    const auto add = [&world](const char* name, std::int64_t gpus, std::int64_t cores) {
        NodeFacts facts = node(name, gpus);
        facts.allocatable.cpu = CpuMilli{cores * 1'000};
        world.add(facts);
    };
    add("many-gpus", 11, 8);
    add("many-cores", 8, 64);
    JobSpec asks = training(1);
    asks.cpu = CpuMilli{65'000};
    const auto refused = preflight(world.engine.state(), asks);
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->code, ErrorCode::NeverFits);
    EXPECT_EQ(std::get<refusal::NodesTooSmall>(refused->what).node, "many-cores");
}

}  // namespace
}  // namespace gpuctl::test
