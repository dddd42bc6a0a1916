#include "k8s/convert_workload.hpp"

#include <gtest/gtest.h>

#include "k8s/kubernetes_cluster_feeds.hpp"
#include "unit/k8s/adapter_fixture.hpp"
#include "unit/k8s/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

std::string object_with(const std::string& rest) {
    return R"({"metadata":{"name":"w","namespace":"t","labels":{"runwhere.ai/job-uid":"j1"}})" +
           rest + "}";
}

TEST(ConvertWorkload, phases_and_messages_come_from_spec_and_conditions) {
    const auto read = [](const std::string& rest) {
        const auto facts = read_workload(object_with(rest), LabelKeys{});
        EXPECT_TRUE(facts);
        return facts ? *facts : WorkloadFacts{};
    };
    EXPECT_EQ(read("").phase, WorkloadPhase::active);
    EXPECT_EQ(read("").job_uid, "j1");
    EXPECT_EQ(read(R"(,"spec":{"suspend":true})").phase, WorkloadPhase::suspended);
    EXPECT_EQ(read(R"(,"spec":{"replicas":3})").replicas, 3);
    EXPECT_EQ(read(R"(,"status":{"conditions":[{"type":"Complete","status":"True"}]})").phase,
              WorkloadPhase::complete);
    const WorkloadFacts failed = read(
        R"(,"status":{"conditions":[{"type":"Failed","status":"True","reason":"R","message":"m"}]})");
    EXPECT_EQ(failed.phase, WorkloadPhase::failed);
    EXPECT_EQ(failed.message, "R: m");
    EXPECT_EQ(read(R"(,"status":{"conditions":[{"type":"Failed","status":"False"}]})").phase,
              WorkloadPhase::active);
    EXPECT_EQ(read(R"(,"status":{"conditions":[{"type":"ReplicaFailure","status":"True",
        "reason":"FailedCreate","message":"exceeded quota"}]})")
                  .message,
              "FailedCreate: exceeded quota");
}

TEST(ConvertWorkload, what_is_cut_or_nameless_is_refused) {
    EXPECT_FALSE(read_workload(R"({"metadata":{"name":"w")", LabelKeys{}));
    EXPECT_FALSE(read_workload("{}", LabelKeys{}));
}

class WorkloadFeedTest : public LoopTest {
protected:
    WorkloadFeedTest() { outbox.attach(sink); }
    Sink sink;
    Outbox outbox{loop};
    WorkloadFeed feed{outbox, LabelKeys{}, [] {}};
};

TEST_F(WorkloadFeedTest, news_are_told_once_and_the_end_with_the_job_it_was_made_for) {
    const ObjectIdentity identity{"t", "w", "object-uid", "1"};
    EXPECT_TRUE(feed.on_object(Change::added, identity, object_with("")));
    EXPECT_TRUE(feed.on_object(Change::modified, identity, object_with("")));
    EXPECT_EQ(sink.events.size(), 1U);
    EXPECT_TRUE(feed.on_deleted(identity, ""));
    ASSERT_EQ(sink.events.size(), 2U);
    EXPECT_EQ(std::get<WorkloadRemoved>(sink.events[1]).job_uid, "j1");
}

TEST_F(WorkloadFeedTest, objects_that_only_borrow_our_label_are_nobodys_job) {
    const ObjectIdentity identity{"t", "w", "object-uid", "1"};
    EXPECT_TRUE(feed.on_object(Change::added, identity, R"({"metadata":{"name":"w"}})"));
    EXPECT_TRUE(feed.on_deleted(identity, ""));
    EXPECT_TRUE(sink.events.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
