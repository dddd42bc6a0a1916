#include "scheduler/whatif/what_if.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::whatif {
namespace {

using test::EngineWorld;
using test::gang;
using test::node;
using test::pod;

JobRecord job(const std::string& name, std::int32_t ranks, std::int64_t gpus) {
    JobRecord record;
    record.uid = "uid-of-" + name;
    record.spec.key = {"team-a", name};
    record.spec.replicas_min = record.spec.replicas_max = ranks;
    record.spec.cpu = CpuMilli{1'000};
    record.spec.memory = Bytes{1 << 30};
    record.spec.gpu.amount = whole_gpus(gpus);
    record.spec.gpu.resource = test::kGpu;
    return record;
}

Answer ask_about(const EngineWorld& world, const JobRecord& record) {
    Result<Answer> answer =
        simulate_submission(world.engine.export_state(), record, "runwhere.ai", world.now);
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
    return answer ? *answer : Answer{};
}

const Remedy* find(const Answer& answer, ChangeKind kind) {
    const auto found = std::find_if(answer.remedies.found.begin(), answer.remedies.found.end(),
                                    [kind](const Remedy& one) { return one.kind == kind; });
    return found == answer.remedies.found.end() ? nullptr : &*found;
}

TEST(WhatIf, a_job_that_fits_gets_its_placement_and_no_state_changes) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    const std::uint64_t before = world.engine.state_hash();
    const Answer answer = ask_about(world, job("llm", 2, 8));
    EXPECT_TRUE(answer.starts);
    ASSERT_EQ(answer.placements.size(), 2u);
    EXPECT_EQ(answer.placements[0].pod, "llm-0");
    EXPECT_NE(answer.placements[0].node, answer.placements[1].node);
    EXPECT_TRUE(answer.blockers.empty() && answer.remedies.found.empty());
    EXPECT_EQ(world.engine.state_hash(), before);
}

TEST(WhatIf, a_job_that_waits_gets_its_blockers_and_remedies) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(pod("small", "small", 2));
    world.run();
    const Answer answer = ask_about(world, job("llm", 2, 8));
    EXPECT_FALSE(answer.starts);
    ASSERT_FALSE(answer.blockers.empty());
    EXPECT_EQ(answer.position, 1);
    const Remedy* fewer = find(answer, ChangeKind::fewer_gpus);
    ASSERT_NE(fewer, nullptr);
    EXPECT_EQ(fewer->amount, 6);
    EXPECT_EQ(wording::sentence(fewer->facts),
              "it would start now with 6 GPUs per rank instead of 8");
    const Remedy* ranks = find(answer, ChangeKind::fewer_ranks);
    ASSERT_NE(ranks, nullptr);
    EXPECT_EQ(ranks->amount, 1);
    const Remedy* ends = find(answer, ChangeKind::job_ends);
    ASSERT_NE(ends, nullptr);
    EXPECT_EQ(ends->subject, "team-a/small");
    EXPECT_EQ(wording::sentence(ends->facts), "it would start if team-a/small (2 GPUs) ended");
    const Remedy* nodes = find(answer, ChangeKind::more_nodes);
    ASSERT_NE(nodes, nullptr);
    EXPECT_EQ(nodes->amount, 1);
    EXPECT_EQ(find(answer, ChangeKind::other_pool), nullptr);
}

TEST(WhatIf, another_pool_or_queue_is_proposed_when_it_has_room) {
    EngineWorld world;
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, whole_gpus(1)}, {"free", 0, 1, {}, {}}};
    policy.pools = {pool};
    world.set(policy);
    world.add(node("a", 8));
    world.add(node("b", 8, "other"));
    world.add(pod("holds", "holds", 1));
    world.run();
    const Answer answer = ask_about(world, job("llm", 1, 1));
    EXPECT_FALSE(answer.starts);
    const Remedy* queue = find(answer, ChangeKind::other_queue);
    ASSERT_NE(queue, nullptr);
    EXPECT_EQ(queue->subject, "free");
    const Remedy* limit = find(answer, ChangeKind::higher_limits);
    ASSERT_NE(limit, nullptr);
    EXPECT_EQ(wording::sentence(limit->facts),
              "it would start if the maximum of queue default were 2 GPUs instead of 1");
    const Remedy* elsewhere = find(answer, ChangeKind::other_pool);
    ASSERT_NE(elsewhere, nullptr);
    EXPECT_EQ(elsewhere->subject, "other");
    EXPECT_EQ(find(answer, ChangeKind::more_nodes), nullptr) << "it does not lack nodes";
}

TEST(WhatIf, a_larger_budget_is_proposed_as_far_as_needed) {
    EngineWorld world;
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, std::nullopt}};
    pool.queues.front().budget =
        BudgetPolicy{gpu_time(whole_gpus(10), Duration::seconds(3600)), kDay, Instant{}, {}};
    policy.pools = {pool};
    world.set(policy);
    world.add(node("a", 8));
    JobRecord record = job("llm", 1, 4);
    record.spec.run_time_max = Duration::seconds(4 * 3600);
    const Answer answer = ask_about(world, record);
    EXPECT_FALSE(answer.starts);
    const Remedy* limit = find(answer, ChangeKind::higher_limits);
    ASSERT_NE(limit, nullptr);
    EXPECT_EQ(wording::sentence(limit->facts),
              "it would start if the budget of queue default were 16 GPU-hours instead of 10");
    const Remedy* fewer = find(answer, ChangeKind::fewer_gpus);
    ASSERT_NE(fewer, nullptr);
    EXPECT_EQ(fewer->amount, 2);
}

TEST(WhatIf, jobs_ahead_use_added_nodes_first) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("full", "full", 8));
    world.run();
    PodFacts ahead = pod("ahead", "ahead", 8);
    ahead.priority = priority_value(JobPriority::high);
    world.add(ahead);
    world.run();
    const Answer answer = ask_about(world, job("llm", 1, 8));
    const Remedy* nodes = find(answer, ChangeKind::more_nodes);
    ASSERT_NE(nodes, nullptr);
    EXPECT_EQ(nodes->amount, 2);
    EXPECT_EQ(find(answer, ChangeKind::job_ends), nullptr) << "the job ahead would take that room";
    EXPECT_EQ(answer.position, 2);
}

TEST(WhatIf, preempted_jobs_are_listed_with_their_cost) {
    EngineWorld world;
    world.add(node("a", 4));
    PodFacts low = pod("low", "low", 4);
    low.preemptible = true;
    low.restart_cost = Duration::seconds(30);
    world.add(low);
    world.run();
    low = world.pods.at("low");
    low.started_at = world.now;
    world.add(low);
    world.now = world.now + Duration::seconds(60);
    const Answer answer = ask_about(world, job("high", 1, 4));
    EXPECT_TRUE(answer.starts);
    ASSERT_EQ(answer.stops.size(), 1u);
    EXPECT_EQ(answer.stops[0].key, (ObjectKey{"team-a", "low"}));
    EXPECT_EQ(answer.stops[0].gpus, whole_gpus(4));
    EXPECT_EQ(answer.stops[0].lost_gpu_ms, 4 * 90'000);
    EXPECT_EQ(answer.stops[0].pods, (std::vector<std::string>{"low"}));
    EXPECT_FALSE(answer.stops[0].goes_on);
    EXPECT_TRUE(ask_about(world, job("other", 1, 4)).stops.size() == 1)
        << "the query evicted no pod";
}

TEST(WhatIf, a_job_that_waits_gets_a_start_estimate) {
    EngineWorld world;
    world.add(node("a", 4));
    PodFacts runs = pod("runs", "runs", 4);
    runs.run_time_max = Duration::seconds(3600);
    world.add(runs);
    world.run();
    const Answer answer = ask_about(world, job("llm", 1, 4));
    ASSERT_TRUE(answer.start);
    EXPECT_EQ(answer.start->latest, world.now + Duration::seconds(3600));
    EXPECT_TRUE(answer.stops.empty());
}

// The head-of-line job has a reservation of both nodes in two hours; jobs that end before may pass
// it.
EngineWorld with_a_reservation_in_two_hours() {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(node("b", 4));
    PodFacts runs = pod("runs", "runs", 4);
    runs.run_time_max = Duration::seconds(2 * 3600);
    runs.priority = priority_value(JobPriority::medium);
    world.add(runs);
    world.run();
    std::vector<PodFacts> wide = gang("wide", 2, 4);
    for (PodFacts& rank : wide) rank.priority = priority_value(JobPriority::medium);
    world.add(wide);
    world.run();
    return world;
}

TEST(WhatIf, a_shorter_run_time_that_ends_before_the_reservation_is_proposed) {
    EngineWorld world = with_a_reservation_in_two_hours();
    JobRecord asked = job("llm", 1, 4);
    asked.spec.run_time_max = Duration::seconds(8 * 3600 + 5);
    const Answer answer = ask_about(world, asked);
    const Remedy* shorter = find(answer, ChangeKind::shorter_run_time);
    ASSERT_NE(shorter, nullptr);
    EXPECT_EQ(shorter->amount, 2 * 3600);
    EXPECT_EQ(wording::sentence(shorter->facts),
              "it would start now with maxRunTime 2h instead of 8h5s");

    asked.spec.run_time_max = {};
    const Answer endless = ask_about(world, asked);
    ASSERT_NE(find(endless, ChangeKind::shorter_run_time), nullptr);
    EXPECT_EQ(wording::sentence(find(endless, ChangeKind::shorter_run_time)->facts),
              "it would start now with maxRunTime 2h (it has none)");

    asked.spec.run_time_expected = Duration::seconds(2 * 3600 + 1);
    EXPECT_EQ(find(ask_about(world, asked), ChangeKind::shorter_run_time), nullptr)
        << "a run time shorter than expected is not proposed";
}

TEST(Remedies, for_pods_that_were_not_submitted_here_the_active_deadline_is_named) {
    EngineWorld world = with_a_reservation_in_two_hours();
    PodFacts late = pod("late", "late", 4);
    late.run_time_max = Duration::seconds(3 * 3600);
    world.add(late);
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "late"}, world.now);
    ASSERT_TRUE(found);
    const auto shorter =
        std::find_if(found->found.begin(), found->found.end(),
                     [](const Remedy& one) { return one.kind == ChangeKind::shorter_run_time; });
    ASSERT_NE(shorter, found->found.end());
    EXPECT_EQ(wording::sentence(shorter->facts),
              "it would start now with activeDeadlineSeconds 7200 instead of 10800");
}

// Deleted and submitted again, the job would be last, and the job behind it would take the GPU.
TEST(Remedies, a_smaller_job_that_would_lose_its_position_is_not_proposed) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts runs = pod("runs", "runs", 7);
    runs.run_time_max = Duration::seconds(3600);
    world.add(runs);
    world.run();
    world.add(pod("first", "first", 8));
    world.run();
    world.add(pod("behind", "behind", 1));
    world.run();
    ASSERT_EQ(world.node_of("behind"), "");
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "first"}, world.now);
    ASSERT_TRUE(found);
    for (const Remedy& one : found->found)
        EXPECT_NE(one.kind, ChangeKind::fewer_gpus) << wording::sentence(one.facts);
}

// The ranks end one after the other, and a smaller job takes the room of each.
TEST(Remedies, the_end_of_a_job_whose_room_other_jobs_would_take_is_not_proposed) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(gang("runs", 2, 4));
    world.run();
    world.add(gang("first", 2, 4));
    world.run();
    for (const char* name : {"s0", "s1", "s2", "s3"}) world.add(pod(name, name, 1));
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "first"}, world.now);
    ASSERT_TRUE(found);
    for (const Remedy& one : found->found)
        EXPECT_NE(one.kind, ChangeKind::job_ends) << wording::sentence(one.facts);
}

TEST(Remedies, a_new_node_is_a_host_of_its_own) {
    EngineWorld world;
    NodeFacts a = node("a", 8);
    a.topology.host = "a";
    world.add(a);
    std::vector<PodFacts> ranks = gang("g", 4, 4);
    for (PodFacts& rank : ranks) rank.rules.topology.required = TopologyLevel::host;
    world.add(ranks);
    world.run();
    const auto found = find_remedies(world.engine.export_state(), {"team-a", "g"}, world.now);
    ASSERT_TRUE(found);
    for (const Remedy& one : found->found)
        EXPECT_NE(one.kind, ChangeKind::more_nodes) << wording::sentence(one.facts);
}

// With many new nodes the wide job fits first and takes them: more nodes help less.
TEST(WhatIf, the_fewest_nodes_are_proposed_although_more_would_help_another_job) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(pod("full", "full", 4));
    world.run();
    world.add(gang("wide", 2, 4));
    world.run();
    const Answer answer = ask_about(world, job("one", 1, 4));
    const Remedy* nodes = find(answer, ChangeKind::more_nodes);
    ASSERT_NE(nodes, nullptr);
    EXPECT_EQ(nodes->amount, 1);
}

TEST(WhatIf, a_job_that_can_never_start_is_refused_with_the_reason) {
    EngineWorld world;
    world.add(node("a", 8));
    const auto answer = simulate_submission(world.engine.export_state(), job("llm", 1, 9),
                                            "runwhere.ai", world.now);
    ASSERT_TRUE(answer.has_value());
    ASSERT_TRUE(answer->never.has_value());
    EXPECT_EQ(answer->never->code, ErrorCode::NeverFits);
    EXPECT_FALSE(answer->starts);
    world.send(JobSubmitted{job("taken", 1, 1)});
    const auto taken = simulate_submission(world.engine.export_state(), job("taken", 1, 1),
                                           "runwhere.ai", world.now);
    ASSERT_FALSE(taken.has_value());
    EXPECT_EQ(taken.error().code, ErrorCode::JobExists);
    EXPECT_FALSE(
        simulate_submission("no state", job("a", 1, 1), "runwhere.ai", world.now).has_value());
}

TEST(WhatIf, a_follower_answers_as_a_leader_would) {
    EngineWorld world{EngineWorld::Bare{}};
    world.add(node("a", 8));
    world.send(CacheSynced{});
    EXPECT_TRUE(ask_about(world, job("llm", 1, 8)).starts);
}

// Regression: for any named pool, the pod's own affinity was dropped together with the term for "no
// pool".
TEST(Remedies, another_pool_is_proposed_only_if_the_pods_own_affinity_allows_it) {
    EngineWorld world;
    NodeFacts other = node("b", 8, "other");
    other.labels["product"] = "h100";
    world.add(other);
    world.add(node("a", 0));
    const SelectorRequirement in_no_pool{"runwhere.ai/pool", SelectorOperator::does_not_exist, {}};
    const auto names_other_pool = [&](const char* name, std::vector<SelectorRequirement> asks) {
        PodFacts waiting = pod(name, name, 1);
        waiting.rules.required_affinity = {{SelectorTerm{std::move(asks), {}, false}}};
        world.add(waiting);
        world.run();
        const auto found = find_remedies(world.engine.export_state(), {"team-a", name}, world.now);
        return found &&
               std::any_of(found->found.begin(), found->found.end(),
                           [](const Remedy& one) { return one.kind == ChangeKind::other_pool; });
    };
    EXPECT_TRUE(names_other_pool("any", {in_no_pool}));
    EXPECT_TRUE(
        names_other_pool("fits", {in_no_pool, {"product", SelectorOperator::in, {"h100"}}}));
    EXPECT_FALSE(
        names_other_pool("b200", {in_no_pool, {"product", SelectorOperator::in, {"b200"}}}));
    EXPECT_FALSE(names_other_pool("own", {{"product", SelectorOperator::in, {"b200"}}}));
}

// Regression: for a gang that lost a rank only the missing rank was tried there, and found room.
TEST(Remedies, no_other_pool_is_proposed_for_the_remaining_ranks_of_a_gang) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(node("b", 4));
    world.add(node("c", 4, "other"));
    std::vector<PodFacts> ranks = gang("g", 2, 4);
    world.add(ranks);
    world.run();
    world.remove_pod(ranks[1].uid);
    world.remove_node("b");
    ranks[1].uid = "again";
    world.add(ranks[1]);
    world.plan();
    const auto remedies = find_remedies(world.engine.export_state(), {"team-a", "g"}, world.now);
    ASSERT_TRUE(remedies);
    for (const Remedy& one : remedies->found) EXPECT_NE(one.kind, ChangeKind::other_pool);
}

TEST(Remedies, a_remedy_for_some_of_the_pods_says_how_many_would_start) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(node("b", 2, "other"));
    world.add(pod("holds", "holds", 1));
    world.run();
    for (const char* name : {"svc-a", "svc-b", "svc-c"}) world.add(pod(name, "svc", 1));
    world.plan();
    const auto remedies = find_remedies(world.engine.export_state(), {"team-a", "svc"}, world.now);
    ASSERT_TRUE(remedies);
    const auto pool =
        std::find_if(remedies->found.begin(), remedies->found.end(),
                     [](const Remedy& one) { return one.kind == ChangeKind::other_pool; });
    ASSERT_NE(pool, remedies->found.end());
    EXPECT_EQ(wording::sentence(pool->facts),
              "2 of its 3 waiting pods would start now in pool other");
}

TEST(Remedies, a_job_that_runs_or_lacks_its_own_ranks_has_none) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    std::vector<PodFacts> ranks = gang("g", 2, 1);
    world.add(ranks[0]);  // the other rank does not exist yet
    world.run();
    for (const char* name : {"p", "g", "unknown"}) {
        const auto found = find_remedies(world.engine.export_state(), {"team-a", name}, world.now);
        ASSERT_TRUE(found.has_value());
        EXPECT_TRUE(found->found.empty())
            << name << ": " << wording::sentence(found->found.front().facts);
    }
}

TEST(WhatIf, fewer_slices_are_counted_as_slices) {
    constexpr const char* kSlice = "nvidia.com/mig-1g.10gb";
    EngineWorld world;
    NodeFacts node = test::node("a", 0);
    node.gpu_model = "A100-80GB";
    node.allocatable.gpus.push_back({kSlice, whole_gpus(1)});
    world.add(node);
    NodeFacts taken = node;
    taken.name = "b";
    taken.allocatable.gpus.front().amount = whole_gpus(2);
    world.add(taken);
    PodFacts runs = test::pod("runs", "runs", 0);
    runs.request.gpus.push_back({kSlice, whole_gpus(2)});
    world.add(runs);
    world.run();
    JobRecord asked = job("sliced", 1, 2);
    asked.spec.gpu.resource = kSlice;
    const Answer answer = ask_about(world, asked);
    const Remedy* fewer = find(answer, ChangeKind::fewer_gpus);
    ASSERT_NE(fewer, nullptr);
    EXPECT_EQ(wording::sentence(fewer->facts),
              "it would start now with 1 mig-1g.10gb slice per rank instead of 2");
}

}  // namespace
}  // namespace gpuctl::whatif
