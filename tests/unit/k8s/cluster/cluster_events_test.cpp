// Events of the kubelet and of controllers, as `gpuctl describe job` shows them.

#include <gtest/gtest.h>

#include "k8s/cluster/cluster_events.hpp"

namespace gpuctl::k8s {
namespace {

const std::string kEventList = R"({"metadata":{"continue":"more"},"items":[
 {"metadata":{"name":"a.1"},"involvedObject":{"kind":"Pod","namespace":"t","name":"a"},
  "reason":"Failed","message":"Error: ImagePullBackOff","type":"Warning","count":3,
  "source":{"component":"kubelet","host":"n1"},
  "firstTimestamp":"2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:05:00Z"},
 {"metadata":{"name":"a.2"},"involvedObject":{"kind":"Pod","namespace":"t","name":"a"},
  "reason":"Scheduled","message":"ours","type":"Normal","reportingComponent":"gpuctl",
  "eventTime":"2026-01-01T00:00:00.000000Z"},
 {"metadata":{"name":"a.3"},"involvedObject":{"kind":"ReplicaSet","namespace":"t","name":"a-1"},
  "reason":"FailedCreate","message":"quota","type":"Warning","reportingComponent":"replicaset",
  "eventTime":"2026-01-01T00:01:00.000000Z",
  "series":{"count":9,"lastObservedTime":"2026-01-01T00:09:00.000000Z"}}]})";

TEST(ClusterEvents, both_forms_are_read_and_our_own_are_left_out) {
    std::vector<ports::ClusterEvent> events;
    EXPECT_EQ(read_events(kEventList, events), "more");
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].reason, "Failed");
    EXPECT_EQ(events[0].from, "kubelet");
    EXPECT_EQ(events[0].count, 3);
    EXPECT_TRUE(events[0].warning);
    EXPECT_EQ(events[0].at.ms() - events[0].first_at.ms(), 300'000);
    EXPECT_EQ(events[1].kind, "ReplicaSet");
    EXPECT_EQ(events[1].count, 9);
    EXPECT_EQ(events[1].at.ms() - events[1].first_at.ms(), 480'000);
}

TEST(ClusterEvents, text_that_is_no_list_gives_no_events) {
    std::vector<ports::ClusterEvent> events;
    EXPECT_EQ(read_events("{\"items\":[{\"reason\":", events), "");
    EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
