#include "k8s/convert/convert_workload.hpp"

#include <gtest/gtest.h>

#include "k8s/cluster/kubernetes_cluster_feeds.hpp"
#include "k8s/json/object_time.hpp"
#include "unit/k8s/client/loop_fixture.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

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
    EXPECT_EQ(read(R"(,"spec":{"parallelism":2,"completions":3})").replicas, 3)
        << "of a Job: ranks";
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

TEST(ConvertWorkload, a_truncated_or_nameless_object_is_refused) {
    EXPECT_FALSE(read_workload(R"({"metadata":{"name":"w")", LabelKeys{}));
    EXPECT_FALSE(read_workload("{}", LabelKeys{}));
}

class WorkloadFeedTest : public LoopTest {
protected:
    WorkloadFeedTest() { outbox.attach(sink); }
    Sink sink;
    Outbox outbox{loop};
    std::vector<WorkloadOrigin> read;
    WorkloadFeed feed{outbox, LabelKeys{},
                      [this](const WorkloadOrigin& origin) -> std::optional<JobSpec> {
                          read.push_back(origin);
                          if (origin.source.empty()) return std::nullopt;
                          JobSpec spec;
                          spec.image = origin.source;
                          return spec;
                      },
                      [] {}};
};

TEST_F(WorkloadFeedTest, changes_are_reported_once_and_the_deletion_with_the_job) {
    const ObjectIdentity identity{"t", "w", "object-uid", "1"};
    EXPECT_TRUE(feed.on_object(Change::added, identity, object_with("")));
    EXPECT_TRUE(feed.on_object(Change::modified, identity, object_with("")));
    EXPECT_EQ(sink.events.size(), 1U);
    EXPECT_TRUE(feed.on_deleted(identity, ""));
    ASSERT_EQ(sink.events.size(), 2U);
    EXPECT_EQ(std::get<WorkloadRemoved>(sink.events[1]).job_uid, "j1");
}

TEST_F(WorkloadFeedTest, the_job_is_reported_with_the_first_change) {
    const std::string object =
        R"({"metadata":{"name":"w","namespace":"t","creationTimestamp":"2026-11-21T10:00:00Z",)"
        R"("labels":{"runwhere.ai/job-uid":"j1","runwhere.ai/job-type":"notebook"},)"
        R"("annotations":{"runwhere.ai/source":"the document"}}})";
    ASSERT_TRUE(feed.on_object(Change::added, {"t", "w", "u1", "1"}, object));
    ASSERT_TRUE(feed.on_object(Change::modified, {"t", "w", "u1", "2"}, object));
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].job_type, "notebook");
    ASSERT_GE(sink.events.size(), 2u);
    const auto* adopted = std::get_if<JobAdopted>(&sink.events[0]);
    ASSERT_NE(adopted, nullptr);
    EXPECT_EQ(adopted->job.uid, "j1");
    EXPECT_EQ(adopted->job.spec.key, (ObjectKey{"t", "w"}));
    EXPECT_EQ(adopted->job.spec.image, "the document");
    EXPECT_EQ(adopted->job.submitted_at, parse_object_time("2026-11-21T10:00:00Z"));
    EXPECT_TRUE(std::holds_alternative<WorkloadObserved>(sink.events[1]));
}

TEST_F(WorkloadFeedTest, a_workload_that_is_being_deleted_is_not_adopted) {
    const std::string object =
        R"({"metadata":{"name":"w","namespace":"t","deletionTimestamp":"2026-11-21T10:00:00Z",)"
        R"("labels":{"runwhere.ai/job-uid":"j1"},"annotations":{"runwhere.ai/source":"x"}}})";
    ASSERT_TRUE(feed.on_object(Change::added, {"t", "w", "u1", "1"}, object));
    EXPECT_TRUE(read.empty());
    for (const Event& event : sink.events) {
        EXPECT_FALSE(std::holds_alternative<JobAdopted>(event));
    }
}

TEST_F(WorkloadFeedTest, objects_with_our_label_alone_belong_to_no_job) {
    const ObjectIdentity identity{"t", "w", "object-uid", "1"};
    EXPECT_TRUE(feed.on_object(Change::added, identity, R"({"metadata":{"name":"w"}})"));
    EXPECT_TRUE(feed.on_deleted(identity, ""));
    EXPECT_TRUE(sink.events.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
