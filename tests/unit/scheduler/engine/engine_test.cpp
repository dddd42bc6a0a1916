// The guarantees of the engine one by one. M-numbers: known mistakes of Kubernetes schedulers that
// a test rules out.

#include <gtest/gtest.h>

#include "scheduler/base/archive.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

TEST(Engine, pods_of_other_schedulers_hold_room) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts foreign = pod("theirs", "", 6);
    foreign.ours = false;
    foreign.node = "a";
    world.add(foreign);
    world.add(pod("p", "p", 4));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "");
    world.add(pod("q", "q", 2));
    world.plan();
    EXPECT_EQ(world.node_of("q"), "a");
}

TEST(Engine, no_more_is_placed_than_is_allocatable) {
    EngineWorld world;
    NodeFacts small = node("a", 8);
    small.allocatable = room(7);  // the node has 8, one is broken
    world.add(small);
    world.add(pod("p", "p", 8));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "");
    EXPECT_EQ(world.why("p").front().reason, Reason::never_fits);
}

TEST(Engine, a_pod_observed_before_its_node_holds_room_there) {
    EngineWorld world;
    PodFacts daemon = pod("daemon", "", 5);
    daemon.ours = false;
    daemon.node = "late";
    world.add(daemon);
    world.add(node("late", 8));
    world.add(pod("p", "p", 4));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "");
}

TEST(Engine, pod_slots_stay_free_for_daemon_sets) {
    EngineWorld world;
    NodeFacts tight = node("a", 8);
    tight.allocatable.pods = 3;  // two slots are reserved
    world.add(tight);
    world.add(pod("p", "p", 1));
    world.add(pod("q", "q", 1));
    world.plan();
    EXPECT_EQ(world.pending.size(), 1U);
    EXPECT_EQ(world.why(world.pending.contains("p") ? "q" : "p").front().reason,
              Reason::pod_slots_insufficient);
}

TEST(Engine, a_terminating_pod_holds_until_it_is_gone) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("old", "old", 8));
    world.run();
    world.pods.at("old").terminating = true;
    world.show("old");
    world.add(pod("new", "new", 8));
    world.plan();
    EXPECT_EQ(world.node_of("new"), "");
    world.remove_pod("old");
    world.plan();
    EXPECT_EQ(world.node_of("new"), "a");
}

TEST(Engine, a_pod_that_ended_holds_nothing) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("old", "old", 8));
    world.run();
    world.pods.at("old").phase = PodPhase::succeeded;
    world.show("old");
    world.add(pod("new", "new", 8));
    world.plan();
    EXPECT_EQ(world.node_of("new"), "a");
}

TEST(Engine, an_assumed_pod_holds_however_late_the_watch_is) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    world.now = world.now + Duration::seconds(3600);
    world.send(WokeUp{});
    world.answer("p");
    world.now = world.now + Duration::seconds(3600);
    world.add(pod("q", "q", 1));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "a");
    EXPECT_EQ(world.node_of("q"), "");
}

TEST(Engine, two_pods_of_one_plan_do_not_get_the_same_room) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(node("b", 1));
    for (const char* name : {"p", "q", "r"}) world.add(pod(name, name, 1));
    world.send(Plan{});
    EXPECT_EQ(world.pending.size(), 2U);
    EXPECT_NE(world.node_of("p"), world.node_of("q"));
    EXPECT_EQ(world.node_of("r"), "");
}

TEST(Engine, gated_and_terminating_pods_are_not_placed) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts gated = pod("gated", "gated", 1);
    gated.gated = true;
    world.add(gated);
    PodFacts terminating = pod("terminating", "terminating", 1);
    terminating.terminating = true;
    world.add(terminating);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    EXPECT_TRUE(world.sent<ReportPending>().empty()) << "the API server speaks for gated pods";
    EXPECT_EQ(world.why("gated").front().reason, Reason::gated);
    world.pods.at("gated").gated = false;
    world.show("gated");
    world.plan();
    EXPECT_EQ(world.node_of("gated"), "a");
}

TEST(Engine, a_pod_bound_elsewhere_is_dropped_and_the_watch_wins) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    const std::string ours = world.node_of("p");
    const std::string other = ours == "a" ? "b" : "a";
    world.answer("p", BindResult::elsewhere);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    world.pods.at("p").node = other;
    world.show("p");
    EXPECT_EQ(world.node_of("p"), other);
    world.add(pod("q", "q", 8));
    world.plan();
    EXPECT_EQ(world.node_of("q"), ours);
}

TEST(Engine, the_watch_wins_over_an_assumption) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    const std::string other = world.node_of("p") == "a" ? "b" : "a";
    world.pending.clear();
    world.pods.at("p").node = other;
    world.show("p");
    EXPECT_EQ(world.node_of("p"), other);
}

TEST(Engine, a_failed_bind_is_tried_again_after_its_backoff_and_not_before) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.plan();
    world.answer("p", BindResult::failed);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    EXPECT_EQ(world.why("p").front().reason, Reason::bind_backoff);
    ASSERT_FALSE(world.sent<WakeAt>().empty());
    EXPECT_EQ(world.sent<WakeAt>().back().at, world.now + Duration{1000});
    world.now = world.now + Duration{1000};
    world.send(WokeUp{});
    world.plan();
    EXPECT_TRUE(world.pending.contains("p"));
}

// Found by simulation: the wake-up for a gang's deadline had been requested, the gang was bound,
// and the next term relied on that wake-up, so that no later one was requested.
TEST(Engine, a_new_term_requests_wake_ups_again_even_if_none_was_due_at_its_start) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(gang("g", 2, 1));
    world.run();
    ASSERT_FALSE(world.sent<WakeAt>().empty());  // for the gang's deadline, which is met
    world.send(LeadershipChanged{true, Epoch{2}});
    world.now = world.now + Duration::seconds(120);
    world.add(pod("p", "p", 1));
    world.plan();
    world.effects.clear();
    world.answer("p", BindResult::failed);
    ASSERT_EQ(world.sent<WakeAt>().size(), 1u);
    EXPECT_EQ(world.sent<WakeAt>().back().at, world.now + Duration{1000});
}

TEST(Engine, the_same_name_with_a_new_uid_is_a_new_pod_and_the_old_one_is_gone) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.run();
    PodFacts again = world.pods.at("p");
    again.uid = "p2";
    again.node.clear();
    world.pods.erase("p");
    world.add(again);
    world.plan();
    EXPECT_EQ(world.node_of("p"), "");
    EXPECT_EQ(world.node_of("p2"), "a");
}

TEST(Engine, observing_the_same_again_changes_nothing) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.run();
    const std::uint64_t before = world.engine.state_hash();
    world.show("p");
    world.send(NodeObserved{world.nodes.at("a")});
    EXPECT_EQ(world.engine.state_hash(), before);
    EXPECT_FALSE(world.engine.wants_plan());
}

TEST(Engine, selectors_mean_what_kubernetes_means) {
    EngineWorld world;
    NodeFacts labelled = node("a", 8);
    labelled.labels = {{"disk", "ssd"}, {"size", "5"}, {"word", "five"}};
    world.add(labelled);
    const auto places = [&world](PlacementRules rules) {
        static int next = 0;
        const std::string name = "p" + std::to_string(next++);
        PodFacts facts = pod(name, name, 0);
        facts.rules = std::move(rules);
        world.add(facts);
        world.plan();
        const bool placed = world.node_of(name) == "a";
        world.remove_pod(name);
        return placed;
    };
    const auto term = [](SelectorRequirement requirement) {
        PlacementRules rules;
        rules.required_affinity = {{SelectorTerm{{std::move(requirement)}, {}, false}}};
        return rules;
    };
    PlacementRules empty_list;
    empty_list.required_affinity.emplace();
    EXPECT_FALSE(places(empty_list)) << "an empty list of terms matches nothing";
    PlacementRules empty_term;
    empty_term.required_affinity = {{SelectorTerm{}}};
    EXPECT_FALSE(places(empty_term)) << "an empty term matches nothing";
    EXPECT_TRUE(places(term({"absent", SelectorOperator::not_in, {"x"}})));
    EXPECT_FALSE(places(term({"disk", SelectorOperator::not_in, {"ssd"}})));
    EXPECT_TRUE(places(term({"size", SelectorOperator::gt, {"4"}})));
    EXPECT_FALSE(places(term({"size", SelectorOperator::gt, {"5"}})));
    EXPECT_FALSE(places(term({"word", SelectorOperator::gt, {"4"}})));
    EXPECT_FALSE(places(term({"absent", SelectorOperator::lt, {"4"}})));
    EXPECT_TRUE(places(term({"absent", SelectorOperator::does_not_exist, {}})));
    PlacementRules by_name;
    by_name.required_affinity = {
        {SelectorTerm{{}, {{"metadata.name", SelectorOperator::in, {"a"}}}, false}}};
    EXPECT_TRUE(places(by_name));
    by_name.required_affinity->front().fields.front().values = {"a", "b"};
    EXPECT_FALSE(places(by_name)) << "matchFields takes exactly one value";
    PlacementRules broken_or_good = term({"disk", SelectorOperator::in, {"ssd"}});
    broken_or_good.required_affinity->insert(broken_or_good.required_affinity->begin(),
                                             SelectorTerm{{}, {}, true});
    EXPECT_TRUE(places(broken_or_good)) << "a broken term does not spoil the others";
}

TEST(Engine, a_gpu_pod_never_goes_where_the_resource_is_missing) {
    EngineWorld world;
    world.add(node("cpu-only", 0));
    NodeFacts amd = node("amd", 0);
    amd.allocatable.gpus = {{"amd.com/gpu", whole_gpus(8)}};
    world.add(amd);
    world.add(pod("p", "p", 1));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "");
    EXPECT_EQ(world.why("p").front().reason, Reason::never_fits);
}

// Creation times are in whole seconds, rounded down; the measured wait is the one of the user.
TEST(Engine, the_wait_of_a_pod_observed_in_the_second_of_its_creation_starts_at_its_observation) {
    EngineWorld world;
    world.add(node("a", 8));
    world.now = Instant{2'000'900};
    PodFacts quick = pod("quick", "quick", 1);
    quick.created_at = Instant{2'000'000};
    world.add(quick);
    PodFacts old = pod("old", "old", 1);
    old.created_at = Instant{1'994'000};
    world.add(old);
    world.now = Instant{2'000'904};
    world.run();
    std::map<std::string, Duration> waited;
    for (const ReportStarted& report : world.sent<ReportStarted>()) {
        waited[report.job.name] = report.waited;
    }
    EXPECT_EQ(waited.at("quick"), Duration{4});
    EXPECT_EQ(waited.at("old"), Duration{6'904});
}

TEST(Leadership, nothing_is_sent_before_leading_and_synced) {
    EngineWorld world{EngineWorld::Bare{}};
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    JobRecord record;
    record.uid = "u1";
    record.spec.key = {"team-a", "j"};
    world.send(JobSubmitted{record});
    world.send(Plan{});
    EXPECT_TRUE(world.effects.empty());
    EXPECT_FALSE(world.engine.wants_plan());
    world.send(LeadershipChanged{true, Epoch{7}});
    ASSERT_EQ(world.sent<CreateWorkload>().size(), 1U);
    EXPECT_EQ(world.sent<CreateWorkload>().front().epoch, Epoch{7});
    EXPECT_FALSE(world.engine.wants_plan());
    world.send(CacheSynced{});
    world.plan();
    EXPECT_EQ(world.pending.at("p").epoch, Epoch{7});
}

TEST(Leadership, binds_without_an_answer_survive_a_restart_and_are_sent_again) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 8));
    world.plan();
    const EffectId first = world.pending.at("p").id;
    Result<Engine> restarted = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(restarted.has_value());
    world.engine = std::move(*restarted);
    world.add(pod("q", "q", 1));
    world.send(LeadershipChanged{true, Epoch{2}});
    world.send(CacheSynced{});
    world.plan();
    EXPECT_NE(world.pending.at("p").id, first);
    EXPECT_EQ(world.pending.at("p").epoch, Epoch{2});
    EXPECT_EQ(world.node_of("q"), "") << "the room is still held";
}

TEST(Engine, a_system_critical_pod_has_no_queue_and_no_position) {
    EngineWorld world;
    PodFacts critical = pod("dns", "dns", 1);
    critical.priority = kSystemPriority;
    world.add(node("a", 0));
    world.add(critical);
    world.add(pod("p", "p", 1));
    world.plan();
    const Result<JobView> system = find_job(world.engine.state(), "team-a", "dns");
    const Result<JobView> user = find_job(world.engine.state(), "team-a", "p");
    ASSERT_TRUE(system && user);
    EXPECT_TRUE(system->waiting && user->waiting);
    EXPECT_EQ(system->queue, "");
    EXPECT_EQ(system->position, 0);
    EXPECT_EQ(user->queue, kDefaultQueue);
    EXPECT_EQ(user->position, 1);
}

TEST(Packing, one_pod_goes_to_the_fullest_node_that_takes_it) {
    EngineWorld world;
    world.add(node("big", 8));
    world.add(node("small", 2));
    world.add(pod("p", "p", 2));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "small");
}

TEST(Packing, a_gang_goes_to_few_nodes) {
    EngineWorld world;
    for (const char* name : {"a", "b", "c", "d"}) world.add(node(name, 2));
    world.add(node("big", 8));
    world.add(gang("g", 4, 2));
    world.plan();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(world.node_of("g-" + std::to_string(i)), "big");
}

// A bind by an earlier leader, or by another scheduler, on the node where its room was nominated.
TEST(Engine, a_nomination_ends_when_its_pod_is_bound_there_by_another_scheduler) {
    EngineWorld world;
    world.add(node("a", 4));
    PodFacts low = pod("low", "low", 3);
    low.preemptible = true;
    world.add(low);
    world.run();
    PodFacts high = pod("high", "high", 4);
    high.priority = 10;
    world.add(high);
    world.plan();
    ASSERT_TRUE(world.evictions.contains("low"));
    high.node = "a";
    world.add(high);  // verifies that no nomination counts for its queue now
    world.remove_pod("low");
    world.run();
    EXPECT_EQ(world.node_of("high"), "a");
}

TEST(Packing, work_without_gpus_is_placed_on_nodes_without_gpus) {
    EngineWorld world;
    world.add(node("gpus", 8));
    NodeFacts cpu = node("cpu", 0);
    cpu.allocatable = room(0, 128);
    world.add(cpu);
    world.add(pod("p", "p", 0));
    world.plan();
    EXPECT_EQ(world.node_of("p"), "cpu");
}

TEST(Image, export_and_import_give_the_same_state_and_future) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    world.add(gang("g", 2, 6));
    world.plan();
    world.add(pod("p", "p", 4));
    world.plan();
    Result<Engine> copy = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ(copy->state_hash(), world.engine.state_hash());
    EXPECT_FALSE(Engine::import_state("nonsense").has_value());
}

}  // namespace
}  // namespace gpuctl::test
