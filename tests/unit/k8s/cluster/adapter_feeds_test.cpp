// From watch events to engine events: which changes are reported, and what happens when the sink is
// full.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "k8s/cluster/kubernetes_cluster_feeds.hpp"
#include "unit/k8s/client/loop_fixture.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::json;

class FeedTest : public LoopTest {
protected:
    FeedTest() {
        ClusterAccess access;
        access.server = {false, "127.0.0.1", 1, ""};
        client = client_of(access, {});
        writer = std::make_unique<StatusWriter>(loop, *client, WriteRate{1, 1},
                                                ConditionLedger::Settings{});
        recorder = std::make_unique<EventRecorder>(loop, *client, EventRecorderSettings{});
        outbox.attach(sink);
        feed = std::make_unique<PodFeed>(outbox, PodReadSettings{}, PodNews{*writer, *recorder},
                                         volumes, [] {});
    }
    bool update(const std::string& name, const std::string& object) {
        return feed->on_object(Change::modified, {"t", name, "u-" + name, "5"}, object);
    }
    Sink sink;
    Outbox outbox{loop};
    std::unique_ptr<Client> client;
    std::unique_ptr<StatusWriter> writer;
    std::unique_ptr<EventRecorder> recorder;
    Volumes volumes;
    std::unique_ptr<PodFeed> feed;
};

TEST_F(FeedTest, an_update_without_news_is_no_event) {
    EXPECT_TRUE(update("a", pod_json("a")));
    EXPECT_TRUE(update("a", pod_json("a")));
    EXPECT_EQ(sink.events.size(), 1u);
    EXPECT_EQ(feed->figures().unchanged, 1u);
    EXPECT_TRUE(update("a", pod_json("a", "Running", "n1")));
    EXPECT_EQ(sink.events.size(), 2u);
}

TEST_F(FeedTest, the_end_of_a_pod_is_its_phase_and_only_its_removal_removes_it) {
    EXPECT_TRUE(update("a", pod_json("a", "Running", "n1")));
    EXPECT_TRUE(update("a", pod_json("a", "Succeeded", "n1")));
    // The last state of a deleted object may be older than the reported one.
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, pod_json("a", "Running", "n1")));
    ASSERT_EQ(sink.events.size(), 3u);
    EXPECT_EQ(std::get<PodObserved>(sink.events[1]).pod.phase, PodPhase::succeeded);
    EXPECT_EQ(std::get<PodRemoved>(sink.events[2]).uid, "u-a");
}

TEST_F(FeedTest, another_schedulers_pod_is_reported_when_it_is_bound_and_not_before) {
    Json pod = Json::parse(pod_json("a"));
    pod["spec"]["schedulerName"] = "default-scheduler";
    EXPECT_TRUE(update("a", pod.dump()));
    EXPECT_TRUE(sink.events.empty());
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    EXPECT_TRUE(sink.events.empty());
    pod["spec"]["nodeName"] = "n1";
    EXPECT_TRUE(update("a", pod.dump()));
    ASSERT_EQ(sink.events.size(), 1u);
    EXPECT_FALSE(std::get<PodObserved>(sink.events[0]).pod.ours);
}

TEST_F(FeedTest, an_event_that_a_full_sink_refused_is_reported_again) {
    sink.room = 0;
    EXPECT_FALSE(update("a", pod_json("a")));
    sink.room = 10;
    EXPECT_TRUE(update("a", pod_json("a")));
    EXPECT_EQ(sink.events.size(), 1u);
    sink.room = 1;
    EXPECT_FALSE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    sink.room = 10;
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    EXPECT_EQ(sink.events.size(), 2u);
}

TEST_F(FeedTest, an_outcome_waits_for_room_in_the_sink_and_keeps_its_order) {
    sink.room = 0;
    outbox.deliver(BindOutcome{EffectId{1}, "u", BindResult::bound, ""});
    outbox.deliver(BindOutcome{EffectId{2}, "u", BindResult::bound, ""});
    EXPECT_FALSE(update("a", pod_json("a")));  // not before them
    group.spawn("outbox", outbox.run());
    sink.room = 10;
    EXPECT_TRUE(wait_for([&] { return outbox.waiting() == 0; }));
    ASSERT_EQ(sink.events.size(), 2u);
    EXPECT_EQ(std::get<BindOutcome>(sink.events[1]).effect, EffectId{2});
}

TEST_F(FeedTest, an_unreadable_pod_is_counted_and_stops_nothing) {
    EXPECT_TRUE(update("a", "{\"metadata\":"));
    EXPECT_EQ(feed->figures().unreadable, 1u);
    EXPECT_TRUE(update("b", pod_json("b")));
    EXPECT_EQ(sink.events.size(), 1u);
}

std::string claiming(const std::string& name, const std::string& claim,
                     const std::string& phase = "Pending", const std::string& node = "") {
    Json pod = Json::parse(pod_json(name, phase, node));
    pod["spec"]["volumes"] =
        Json::array({{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", claim}}}}});
    return pod.dump();
}

ClaimReading bound_claim(const std::string& name, const std::string& volume) {
    return {{"t", name}, volume, false, false};
}

TEST_F(FeedTest, a_pod_with_a_claim_is_reported_when_all_claims_are_read) {
    EXPECT_TRUE(update("a", claiming("a", "data")));
    EXPECT_TRUE(sink.events.empty()) << "else it would lose its place by what is read next";
    volumes.set(bound_claim("data", "pv"));
    volumes.set(VolumeReading{"pv", {"t", "data"}, {}});
    EXPECT_TRUE(sink.events.empty());
    feed->volumes_are_read();
    ASSERT_EQ(sink.all<PodObserved>().size(), 1u);
    EXPECT_TRUE(sink.all<PodObserved>()[0].pod.unsupported.empty());
    EXPECT_TRUE(update("a", claiming("a", "data")));
    EXPECT_EQ(sink.events.size(), 1u) << "no news";
}

TEST_F(FeedTest, a_pod_is_reported_again_when_its_claim_is_bound) {
    feed->volumes_are_read();
    volumes.set(bound_claim("data", ""));
    EXPECT_TRUE(update("a", claiming("a", "data")));
    ASSERT_EQ(sink.events.size(), 1u);
    EXPECT_EQ(sink.all<PodObserved>()[0].pod.unsupported,
              std::vector<std::string>{
                  "persistentVolumeClaim data while it is not bound to a volume (gpuctl does not "
                  "bind volumes, as WaitForFirstConsumer requires)"});
    volumes.set(VolumeReading{"pv", {"t", "data"}, {}});
    volumes.set(bound_claim("data", "pv"));
    ASSERT_EQ(sink.events.size(), 2u);
    EXPECT_TRUE(sink.all<PodObserved>()[1].pod.unsupported.empty());
    // A change of another claim does not concern the pod.
    volumes.set(bound_claim("other", "pv2"));
    EXPECT_EQ(sink.events.size(), 2u);
}

TEST_F(FeedTest, an_update_of_a_claim_that_a_full_sink_refuses_waits) {
    feed->volumes_are_read();
    EXPECT_TRUE(update("a", claiming("a", "data")));
    sink.room = 1;
    volumes.set(VolumeReading{"pv", {"t", "data"}, {}});
    volumes.set(bound_claim("data", "pv"));
    EXPECT_EQ(outbox.waiting(), 1u);
    group.spawn("outbox", outbox.run());
    sink.room = 10;
    EXPECT_TRUE(wait_for([&] { return outbox.waiting() == 0; }));
    EXPECT_TRUE(sink.all<PodObserved>()[1].pod.unsupported.empty());
}

TEST_F(FeedTest, claims_of_deleted_or_ended_pods_are_ignored) {
    feed->volumes_are_read();
    EXPECT_TRUE(update("a", claiming("a", "data")));
    EXPECT_TRUE(update("b", claiming("b", "data")));
    EXPECT_TRUE(feed->on_deleted({"t", "a", "u-a", "9"}, ""));
    EXPECT_TRUE(update("b", claiming("b", "data", "Succeeded", "n1")));
    const std::size_t count = sink.events.size();
    volumes.set(VolumeReading{"pv", {"t", "data"}, {}});
    volumes.set(bound_claim("data", "pv"));
    EXPECT_EQ(sink.events.size(), count);
}

class GangFeedTest : public FeedTest {
protected:
    GangFeed gangs{outbox, GangField::job_set, LabelKeys{}, [] {}};
    bool update_set(int restarts, const char* gang = "llm") {
        const Json set = {
            {"metadata", {{"namespace", "t"}, {"name", "train"}}},
            {"spec",
             {{"replicatedJobs",
               Json::array(
                   {{{"name", "w"},
                     {"template",
                      {{"spec",
                        {{"parallelism", 4},
                         {"template",
                          {{"metadata", {{"labels", {{"runwhere.ai/gang", gang}}}}}}}}}}}}})}}},
            {"status", {{"restarts", restarts}}}};
        return gangs.on_object(Change::modified, {"t", "train", "u", "5"}, set.dump());
    }
};

TEST_F(GangFeedTest, a_restart_of_a_JobSet_is_another_gang) {
    EXPECT_TRUE(update_set(0));
    EXPECT_TRUE(update_set(0));
    ASSERT_EQ(sink.events.size(), 1u);
    EXPECT_EQ(sink.all<GangObserved>()[0].key.name, "gang.JobSet.llm:train");
    EXPECT_EQ(sink.all<GangObserved>()[0].size.ranks, 4);
    EXPECT_TRUE(update_set(1));
    ASSERT_EQ(sink.events.size(), 3u);
    EXPECT_EQ(sink.all<GangRemoved>()[0].key.name, "gang.JobSet.llm:train");
    EXPECT_EQ(sink.all<GangObserved>()[1].key.name, "gang.JobSet.llm.1:train");
    EXPECT_TRUE(gangs.on_deleted({"t", "train", "u", "9"}, ""));
    EXPECT_EQ(sink.all<GangRemoved>().size(), 2u);
}

TEST_F(FeedTest, a_device_class_is_reported_while_it_serves_a_resource) {
    DeviceClassFeed classes{outbox, [] {}};
    const auto update_class = [&](const char* spec) {
        return classes.on_object(Change::modified, {"", "c", "u", "5"},
                                 R"({"metadata":{"name":"c"},"spec":)" + std::string{spec} + "}");
    };
    EXPECT_TRUE(update_class("{}"));
    EXPECT_TRUE(sink.events.empty()) << "most serve none";
    EXPECT_TRUE(update_class(R"({"extendedResourceName":"lab.example/gpu"})"));
    EXPECT_TRUE(update_class(R"({"extendedResourceName":"lab.example/gpu"})"));
    ASSERT_EQ(sink.events.size(), 1u);
    EXPECT_EQ(sink.all<DeviceClassObserved>()[0].resource, "lab.example/gpu");
    EXPECT_TRUE(update_class("{}"));
    EXPECT_EQ(sink.all<DeviceClassObserved>().back().resource, "");
    EXPECT_TRUE(classes.on_deleted({"", "c", "u", "9"}, ""));
    EXPECT_EQ(sink.events.size(), 2u);
}

}  // namespace
}  // namespace gpuctl::k8s
