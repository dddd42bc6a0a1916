// Trees of queues in the views of the engine: entitlements, the preflight of a job, the terms of
// its turn.

#include <gtest/gtest.h>

#include "scheduler/policy/entitlement.hpp"
#include "scheduler/queue/share.hpp"
#include "scheduler/state/image/image.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

QueuePolicy queue(const char* name, const char* parent, std::int64_t weight,
                  std::int64_t guaranteed = 0) {
    return {name, 0, weight, whole_gpus(guaranteed), std::nullopt, parent};
}

Policy tree() {
    Policy policy;
    policy.pods_reserved_per_node = 0;
    PoolPolicy pool{"default", "", {}};
    pool.queues = {queue("research", "", 3), queue("llm", "research", 1, 2),
                   queue("vision", "research", 1), queue("product", "", 1)};
    policy.pools = {pool};
    return policy;
}

std::vector<PodFacts> pods(const std::string& job, const char* in, int count,
                           const char* tenant = "team-a") {
    std::vector<PodFacts> out;
    for (int i = 0; i < count; ++i) {
        PodFacts one = pod(job + "-" + std::to_string(i), job, 1);
        one.queue = in;
        one.key.namespace_name = tenant;
        out.push_back(one);
    }
    return out;
}

std::map<std::string, Entitlement> by_name(const EngineWorld& world) {
    const ClusterState& state = world.engine.state();
    std::map<std::string, Entitlement> out;
    for (const auto& [id, part] : entitlements(state, state.tree.find_pool("default"))) {
        out[state.queue(id).name] = part;
    }
    return out;
}

TEST(Entitlement, is_divided_down_the_tree_by_weight) {
    EngineWorld world;
    world.set(tree());
    world.add(node("a", 16));
    world.add(pods("v", "vision", 20));
    world.add(pods("l", "llm", 20));
    world.add(pods("p", "product", 20));
    world.plan();
    auto parts = by_name(world);
    EXPECT_EQ(parts["research"].entitled, whole_gpus(12));
    EXPECT_EQ(parts["product"].entitled, whole_gpus(4));
    EXPECT_EQ(parts["llm"].entitled, whole_gpus(6));
    EXPECT_EQ(parts["vision"].entitled, whole_gpus(6));
    EXPECT_EQ(parts["research"].held, whole_gpus(12)) << "the order of starts leads to the same";
    EXPECT_EQ(parts["llm"].held, whole_gpus(6));
    EXPECT_EQ(parts["vision"].over() + parts["vision"].owed(), GpuMilli{0});
}

TEST(Entitlement, reports_by_how_much_a_queue_is_above_or_below_it) {
    EngineWorld world;
    world.set(tree());
    world.add(node("a", 16));
    world.add(pods("p", "product", 16));
    world.run();
    auto parts = by_name(world);
    EXPECT_EQ(parts["product"].entitled, whole_gpus(16)) << "idle guarantees are lent";
    EXPECT_EQ(parts["product"].over(), GpuMilli{0});
    world.add(pods("l", "llm", 3));
    world.plan();
    parts = by_name(world);
    EXPECT_EQ(parts["llm"].owed(), whole_gpus(3));
    EXPECT_EQ(parts["research"].owed(), whole_gpus(3));
    EXPECT_EQ(parts["product"].over(), whole_gpus(3));
    EXPECT_EQ(parts["vision"].demand, GpuMilli{0});
}

// A weight is a share among queues of equal priority.
TEST(Entitlement, goes_to_priority_first_after_the_guarantees_of_other_queues) {
    EngineWorld world;
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"hi", 10, 1, {}, {}}, {"lo", 0, 3, {}, {}}};
    policy.pools = {pool};
    world.set(policy);
    world.add(node("a", 4));
    world.add(pods("h", "hi", 6));
    world.add(pods("l", "lo", 6));
    world.plan();
    auto parts = by_name(world);
    EXPECT_EQ(parts["hi"].entitled, whole_gpus(4));
    EXPECT_EQ(parts["lo"].entitled, GpuMilli{0});
    EXPECT_EQ(parts["hi"].held, whole_gpus(4)) << "the order of starts leads to the same";
    policy.pools[0].queues[1].guaranteed = whole_gpus(1);
    world.set(policy);
    world.plan();
    parts = by_name(world);
    EXPECT_EQ(parts["hi"].entitled, whole_gpus(3));
    EXPECT_EQ(parts["lo"].owed(), whole_gpus(1));
}

JobSpec job(const char* in, std::int64_t gpus, std::int32_t replicas) {
    JobSpec spec;
    spec.key = {"team-a", "j"};
    spec.queue = in;
    spec.gpu.mode = GpuMode::exclusive;
    spec.gpu.count = gpus;
    spec.gpu.amount = whole_gpus(gpus);
    spec.gpu.resource = kGpu;
    spec.replicas_min = spec.replicas_max = replicas;
    return spec;
}

TEST(QueueTree, preflight_names_the_level_that_never_admits_the_job) {
    EngineWorld world;
    Policy policy = tree();
    std::vector<QueuePolicy>& queues = policy.pools[0].queues;
    queues[0].maximum = whole_gpus(6);
    queues[1].gpus_per_job_maximum = whole_gpus(4);
    queues[3].guaranteed = whole_gpus(1);
    queues[3].borrowing_limit = whole_gpus(1);
    policy.tenants = {{"team-a", 1, {}, {}, {}, "", {{"default", whole_gpus(5)}}}};
    world.set(policy);
    world.add(node("a", 16));
    const auto refusal = [&](const JobSpec& spec) {
        const auto refused = preflight(world.engine.state(), spec);
        return refused ? wording::error_of(*refused).message : "";
    };
    EXPECT_EQ(refusal(job("vision", 1, 5)), "");
    EXPECT_EQ(
        refusal(job("vision", 1, 7)),
        "the job requests 7 pods of 1 GPU; queue research of pool default may hold at most 6");
    EXPECT_EQ(refusal(job("llm", 5, 1)),
              "the job requests 1 pod of 5 GPUs; a job of queue research/llm of pool default may "
              "hold at most 4");
    EXPECT_EQ(refusal(job("product", 1, 3)),
              "the job requests 3 pods of 1 GPU; queue product of pool default may hold at most 2");
    EXPECT_EQ(
        refusal(job("vision", 1, 6)),
        "the job requests 6 pods of 1 GPU; namespace team-a in pool default may hold at most 5");
    EXPECT_EQ(refusal(job("research", 1, 1)),
              "queue research of pool default has sub-queues and takes no jobs; submit to one of: "
              "llm, vision");
}

TEST(QueueTree, views_list_each_queue_before_its_children) {
    EngineWorld world;
    world.set(tree());
    world.add(node("a", 16));
    world.add(pods("l", "llm", 3));
    world.run();
    std::vector<std::string> paths;
    for (const QueueView& view : list_queues(world.engine.state())) {
        paths.push_back(std::string(static_cast<std::size_t>(view.depth), ' ') + view.path);
        if (view.name != "research") continue;
        EXPECT_EQ(view.held, whole_gpus(3));
        EXPECT_EQ(view.guaranteed, whole_gpus(2)) << "the sum of the guarantees below it";
        EXPECT_EQ(view.jobs_running, 1);
        EXPECT_TRUE(view.holds_queues);
        EXPECT_EQ(view.share, kShareWhole * 3 / 16);
    }
    EXPECT_EQ(paths, (std::vector<std::string>{"default", "product", "research", " research/llm",
                                               " research/vision"}));
}

TEST(QueueTree, a_queue_that_gets_sub_queues_keeps_its_running_jobs_and_starts_no_more) {
    EngineWorld world;
    Policy flat = tree();
    flat.pools[0].queues = {queue("research", "", 3)};
    world.set(flat);
    world.add(node("a", 4));
    world.add(pods("old", "research", 3));
    world.run();
    world.add(pods("new", "research", 1));
    world.set(tree());
    world.run();
    EXPECT_EQ(world.node_of("old-2"), "a");
    EXPECT_EQ(world.node_of("new-0"), "");
    EXPECT_EQ(world.why("new").front().reason, Reason::queue_holds_queues);
    world.set(flat);
    world.run();
    EXPECT_EQ(world.node_of("new-0"), "a");
}

TEST(QueueTree, a_queue_that_left_the_policy_is_listed_while_jobs_name_it) {
    EngineWorld world;
    world.set(tree());
    world.add(node("a", 4));
    world.add(pods("old", "product", 2));
    world.run();
    Policy without = tree();
    std::erase_if(without.pools[0].queues, [](const auto& one) { return one.name == "product"; });
    world.set(without);
    world.run();
    const auto product = [&world] {
        std::vector<QueueView> found = list_queues(world.engine.state());
        std::erase_if(found, [](const QueueView& view) { return view.name != "product"; });
        return found;
    };
    ASSERT_EQ(product().size(), 1U);
    EXPECT_FALSE(product()[0].is_declared);
    EXPECT_EQ(product()[0].held, whole_gpus(2));
    EXPECT_EQ(product()[0].jobs_running, 1);
    world.set(tree());
    world.run();
    ASSERT_EQ(product().size(), 1U);
    EXPECT_TRUE(product()[0].is_declared);
    EXPECT_EQ(product()[0].held, whole_gpus(2));
}

TEST(Turn, every_term_of_the_formula_is_there) {
    EngineWorld world;
    Policy policy = tree();
    policy.ageing_step = 10;
    policy.ageing_every = Duration{60'000};
    policy.ageing_maximum = 45;
    policy.tenants = {{"team-b", 2, {}, {}, {}, "", {{"default", whole_gpus(9)}}}};
    policy.pools[0].queues[0].order = QueueOrder::capacity;
    world.set(policy);
    world.add(node("a", 4));
    world.add(pods("old", "llm", 4, "team-b"));
    world.run();
    std::vector<PodFacts> later = pods("new", "llm", 1, "team-b");
    later[0].priority = 100;
    later[0].created_at = world.now;
    world.add(later);
    world.plan();
    world.now = world.now + Duration{240'000};
    world.send(WokeUp{});
    const auto turn = turn_of(world.engine.state(), {"team-b", "new"});
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->priority, 100);
    EXPECT_EQ(turn->priority_by_waiting, 40);
    EXPECT_EQ(turn->waited, Duration{240'000});
    EXPECT_EQ(turn->tenant_share, kShareWhole);
    EXPECT_EQ(turn->tenant_weight, 2);
    EXPECT_EQ(turn->tenant_quota, whole_gpus(9));
    EXPECT_EQ(turn->tenant_held, whole_gpus(4));
    ASSERT_EQ(turn->levels.size(), 2u);
    EXPECT_EQ(turn->levels[0].queue, "research");
    EXPECT_EQ(turn->levels[0].weight, 3);
    EXPECT_EQ(turn->levels[1].queue, "llm");
    EXPECT_EQ(turn->levels[1].order, QueueOrder::capacity) << "the order of its parent";
    EXPECT_EQ(turn->levels[1].guaranteed, whole_gpus(2));
    EXPECT_EQ(turn->levels[1].held, whole_gpus(4));
    EXPECT_EQ(turn->levels[1].share, kShareWhole);
    world.now = world.now + Duration{9'000'000};
    world.send(WokeUp{});
    EXPECT_EQ(turn_of(world.engine.state(), {"team-b", "new"})->priority_by_waiting, 45);
}

// Regression: the shares were not updated until the next event, and another job than the one
// shown as first was tried first.
TEST(Usage, views_show_the_shares_that_the_next_input_uses) {
    EngineWorld world;
    Policy policy;
    policy.usage_half_life = Duration::seconds(60);
    QueuePolicy x;
    x.name = "x";
    QueuePolicy y;
    y.name = "y";
    policy.pools.push_back({"default", "", {x, y}});
    world.set(policy);
    world.add(node("a", 4));
    const auto submit = [&world](const char* name, const char* queue, std::int64_t gpus) {
        PodFacts facts = pod(name, name, gpus);
        facts.queue = queue;
        world.add(facts);
        world.run();
    };
    submit("before", "x", 1);
    world.now = world.now + Duration::seconds(40);
    world.remove_pod("before");
    submit("holds", "y", 1);
    submit("rest", "y", 3);
    submit("next", "x", 4);
    const ClusterState& state = world.engine.state();
    const auto seen = [&state] {
        const TurnView turn = *turn_of(state, {"team-a", "next"});
        std::vector<std::int64_t> shares{turn.tenant_share, turn.tenant_recent_usage};
        for (const QueueView& queue : list_queues(state)) {
            shares.push_back(queue.share);
            shares.push_back(queue.used.gpus.value());
        }
        for (const TurnView::Level& level : turn.levels) {
            shares.push_back(level.share);
            shares.push_back(level.recent_usage);
        }
        return shares;
    };
    const std::uint64_t hash = world.engine.state_hash();
    const auto before = seen();
    for (const std::int64_t later_s : {1, 5, 70, 3600}) {
        state.session.look(world.now + Duration::seconds(later_s));
        const auto looked = seen();
        EXPECT_EQ(world.engine.state_hash(), hash);
        Result<Engine> copy = Engine::import_state(world.engine.export_state());
        ASSERT_TRUE(copy.has_value());
        EffectList effects;
        copy->step(Input{Sequence{world.sequence + 1}, world.now + Duration::seconds(later_s), 1,
                         WokeUp{}},
                   effects);
        const auto turn = *turn_of(copy->state(), {"team-a", "next"});
        EXPECT_EQ(looked[0], turn.tenant_share) << later_s;
        EXPECT_EQ(looked[1], turn.tenant_recent_usage) << later_s;
        EXPECT_EQ(looked[2], list_queues(copy->state())[0].share) << later_s;
        EXPECT_EQ(looked[3], list_queues(copy->state())[0].used.gpus.value()) << later_s;
        EXPECT_EQ(looked.back(), turn.levels.back().recent_usage) << later_s;
    }
    EXPECT_NE(seen(), before);
}

TEST(Usage, survives_absurd_amounts_and_times) {
    EngineWorld world;
    Policy policy = tree();
    policy.usage_half_life = Duration{INT64_MAX};
    policy.default_tenant_weight = INT64_MAX;
    world.set(policy);
    NodeFacts huge = node("a", 8);
    huge.allocatable.cpu = CpuMilli{INT64_MAX};
    huge.allocatable.memory = Bytes{INT64_MAX};
    huge.allocatable.gpus[0].amount = GpuMilli{INT64_MAX};
    world.verify_steps = false;  // sums of absurd values are clamped, not correct
    world.add(huge);
    PodFacts big = pod("big", "big", 8);
    big.request.cpu = CpuMilli{std::int64_t{1} << 45};
    big.request.memory = Bytes{std::int64_t{1} << 45};
    big.request.gpus[0].amount = GpuMilli{std::int64_t{1} << 45};
    world.add(big);
    world.run();
    world.now = Instant{4'000'000'000'000};
    world.send(WokeUp{});
    EXPECT_FALSE(list_queues(world.engine.state()).empty());
    EXPECT_TRUE(Engine::import_state(world.engine.export_state()));
}

}  // namespace
}  // namespace gpuctl::test
