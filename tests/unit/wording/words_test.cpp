#include <gtest/gtest.h>
#include <boost/mp11.hpp>

#include "scheduler/base/archive.hpp"
#include "wording/wording.hpp"

namespace gpuctl {
namespace {

template <typename Check>
void for_each_fact(Check check) {
    boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Fact>>(
        [&check](auto type) { check(Fact{typename decltype(type)::type{}}); });
}

std::string words(Fact fact) { return wording::text({std::move(fact)}); }

TEST(Words, every_fact_has_words) {
    for_each_fact([](const Fact& fact) {
        const bool passes_text_on = std::holds_alternative<fact::ClusterMessage>(fact);
        const bool is_continued = std::holds_alternative<fact::TopologyShort>(fact);
        if (passes_text_on || is_continued) return;
        EXPECT_NE(words(fact), "") << fact.index();
    });
}

TEST(Words, every_fact_survives_the_archive) {
    for_each_fact([](const Fact& fact) {
        std::string bytes;
        ArchiveWriter{bytes}.write(fact);
        Fact read;
        ArchiveReader reader{bytes};
        reader.read(read);
        EXPECT_TRUE(reader.ok() && reader.at_end()) << fact.index();
        EXPECT_EQ(read.index(), fact.index());
        EXPECT_EQ(words(read), words(fact));
    });
}

std::string text_of(Cause why) { return wording::cause_text(std::move(why)); }

TEST(Words, every_cause_has_words_and_survives_the_archive) {
    boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Cause>>(
        [](auto type) {
            const Cause cause{typename decltype(type)::type{}};
            const bool is_sentence = std::holds_alternative<std::string>(cause);
            EXPECT_EQ(text_of(cause).empty(), is_sentence) << cause.index();
            Cause read;
            ASSERT_TRUE(from_archive(to_archive(cause), read)) << cause.index();
            EXPECT_EQ(read.index(), cause.index());
            EXPECT_EQ(text_of(read), text_of(cause));
        });
}

TEST(Words, a_cause_without_its_optional_parts) {
    EXPECT_EQ(wording::cause_text({}), "");
    EXPECT_EQ(text_of(std::string{"as an older version wrote it"}), "as an older version wrote it");
    EXPECT_EQ(text_of(cause::BlocksGuarantee{"prod", "a", {}, {"team-a", "own"}}),
              "preempted because queue prod could not use its guaranteed GPUs: node a had too "
              "little room for job team-a/own");
    EXPECT_EQ(text_of(cause::BlocksGuarantee{"prod",
                                             "a",
                                             {{ResourceKind::memory, "memory"},
                                              {ResourceKind::pod_slots, "pods"},
                                              {ResourceKind::extended, "example.com/fpga"}},
                                             {"team-a", "own"}}),
              "preempted because queue prod could not use its guaranteed GPUs: node a had too "
              "little memory, pod slots, example.com/fpga for job team-a/own");
    EXPECT_EQ(text_of(cause::WindowCloses{"paper", true, true}),
              "evicted for reservation paper, which had begun");
    EXPECT_EQ(text_of(cause::Gain{3, 2, true, 10, {}}), "with 2 ranks it is as fast as with 3");
    EXPECT_EQ(text_of(cause::Gain{4, 2, false, 5, Duration{-1'000}}),
              "from 4 to 2 ranks it is 0.5 times as fast");
    EXPECT_EQ(words(fact::SizeShrinks{}), ", and releases its other ranks");
    EXPECT_EQ(words(fact::SizeGrows{8, Cause{cause::RoomIsIdle{}}}),
              ", growing to 8: room for more ranks is idle");
}

TEST(Words, facts_are_joined_in_their_order) {
    const std::vector<Fact> facts = {
        fact::GangHalfBound{4, 3, {{"leader", 1, 0}}}, fact::Request{"nvidia.com/gpu", 8'000, 1},
        fact::PoolEmpty{"gpu"}, fact::EvictedBefore{cause::DueEarlier{{"team-a", "b"}}}};
    EXPECT_EQ(wording::text(facts),
              "3 of 4 ranks are bound (role leader: 0 of 1), the other ranks cannot be bound: 8 "
              "GPUs requested on one node; pool gpu has no node; it was preempted for job "
              "team-a/b, which is due earlier");
}

TEST(Words, an_amount_of_one_is_singular) {
    EXPECT_EQ(words(fact::PodsGated{1}), "1 pod is blocked by scheduling gates");
    EXPECT_EQ(words(fact::PodsGated{2}), "2 pods are blocked by scheduling gates");
    EXPECT_EQ(words(fact::Request{"nvidia.com/gpu", 1'000, 1}), "1 GPU requested on one node");
    EXPECT_EQ(words(fact::Request{"", 0, 2}), "2 pods requested");
}

TEST(Words, names_that_are_left_out_show_as_dots) {
    const fact::RoomNominated room{whole_gpus(8),      {"node-3"}, 1,
                                   {"b/x-0", "b/x-1"}, 5,          Duration::seconds(30)};
    EXPECT_EQ(words(room),
              "8 GPUs on node-3 are earmarked for it; it waits for 5 pods to terminate (b/x-0, "
              "b/x-1, ...), at most 30 s, and queues again after that");
}

TEST(Words, the_holder_of_a_limit_is_a_queue_a_namespace_or_a_pool) {
    fact::LimitReached limit{.holder = {.queue = "a", .tenant = "", .pool = "gpu"},
                             .rule = fact::LimitRule::maximum,
                             .unit = fact::LimitUnit::gpus,
                             .model = "",
                             .limit = 16'000,
                             .held = 12'000,
                             .needed = 8'000,
                             .nominated = {},
                             .leaves_other_models = false};
    EXPECT_EQ(words(limit), "queue a of pool gpu: 12 of 16 GPUs in use (maximum), 8 requested");
    limit.holder = {.queue = "", .tenant = "team", .pool = ""};
    limit.rule = fact::LimitRule::tenant_maximum;
    EXPECT_EQ(words(limit), "namespace team: 12 of 16 GPUs in use (maximum), 8 requested");
    limit.holder = {.queue = "", .tenant = "team", .pool = "gpu"};
    limit.rule = fact::LimitRule::pool_quota;
    EXPECT_EQ(words(limit),
              "namespace team in pool gpu: 12 of 16 GPUs in use (quota), 8 requested");
    limit.holder = {.queue = "", .tenant = "", .pool = "gpu"};
    limit.rule = fact::LimitRule::reserved_for_queues;
    limit.model = "A100";
    limit.needed = 17'000;
    EXPECT_EQ(words(limit),
              "pool gpu: 12 of 16 A100 GPUs in use or reserved for queues that do not lend them, "
              "17 requested, more than the limit");
}

TEST(Words, a_message_for_kubernetes_begins_with_its_nodes) {
    Explanation why;
    why.facts = {fact::Request{"nvidia.com/gpu", 8'000, 1}};
    EXPECT_EQ(wording::kubernetes_message(why), "8 GPUs requested on one node");
    why.tallies = {{"node(s) were unschedulable", 3}, {"Insufficient nvidia.com/gpu", 2}};
    why.nodes_total = 5;
    EXPECT_EQ(wording::kubernetes_message(why),
              "0/5 nodes are available: 2 Insufficient nvidia.com/gpu, 3 node(s) were "
              "unschedulable. 8 GPUs requested on one node");
}

}  // namespace
}  // namespace gpuctl
