// What the watch shows of objects of the policy becomes changes for the engine, each once.

#include <gtest/gtest.h>

#include "aio/loop.hpp"
#include "k8s/policy/policy_feed.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;

class PolicyFeedTest : public ::testing::Test {
protected:
    PolicyFeedTest() { outbox.attach(sink); }

    static std::string quota(const std::string& name, const std::string& gpus,
                             const std::string& created) {
        return json{{"metadata",
                     {{"name", name},
                      {"namespace", "team-a"},
                      {"creationTimestamp", created},
                      {"labels", {{"runwhere.ai/quota", name}}}}},
                    {"spec", {{"hard", {{"requests.nvidia.com/gpu", gpus}}}}}}
            .dump();
    }
    bool show(const std::string& name, const std::string& gpus, const std::string& version,
              const std::string& created = "2026-11-01T10:00:00Z") {
        return feed.on_object(Change::modified, {"team-a", name, "u-" + name, version},
                              quota(name, gpus, created));
    }
    std::vector<PolicyObjectsChanged> changes() { return sink.all<PolicyObjectsChanged>(); }

    aio::Loop loop;
    Sink sink;
    Outbox outbox{loop};
    PolicyFeed feed{outbox, PolicyKind::quota, LabelKeys{}, [] {}};
    const PolicyKey key{PolicyKind::quota, "team-a"};
};

TEST_F(PolicyFeedTest, only_what_an_object_says_is_a_change) {
    EXPECT_TRUE(show("q", "2", "5"));
    EXPECT_TRUE(show("q", "2", "6"));  // another version, the same words
    ASSERT_EQ(changes().size(), 1u);
    EXPECT_EQ(changes()[0].put[0].version, 5u);
    EXPECT_EQ(changes()[0].put[0].uid, "u-q");
    EXPECT_EQ(changes()[0].put[0].source, PolicySource::crd);
    EXPECT_TRUE(show("q", "3", "7"));
    ASSERT_EQ(changes().size(), 2u);
    EXPECT_EQ(changes()[1].put[0].version, 7u);
    EXPECT_EQ(feed.find(key)->identity.resource_version, "7");
    EXPECT_TRUE(feed.on_deleted({"team-a", "q", "u-q", "8"}, ""));
    ASSERT_EQ(changes().size(), 3u);
    EXPECT_EQ(changes()[2].gone[0].key, key);
    EXPECT_EQ(feed.find(key), nullptr);
}

TEST_F(PolicyFeedTest, of_two_that_mean_the_same_the_older_one_counts_until_it_is_gone) {
    EXPECT_TRUE(show("young", "2", "5", "2026-11-02T10:00:00Z"));
    EXPECT_TRUE(show("old", "4", "6", "2026-11-01T10:00:00Z"));
    ASSERT_EQ(changes().size(), 2u);
    EXPECT_EQ(changes()[1].put[0].uid, "u-old");
    EXPECT_EQ(changes()[1].gone[0].uid, "u-young");
    EXPECT_EQ(feed.all().at("u-young").hidden_by, "old");
    EXPECT_TRUE(show("young", "3", "7", "2026-11-02T10:00:00Z"));
    EXPECT_EQ(changes().size(), 2u) << "hidden";
    EXPECT_TRUE(feed.on_deleted({"team-a", "old", "u-old", "8"}, ""));
    ASSERT_EQ(changes().size(), 3u);
    EXPECT_EQ(changes()[2].put[0].uid, "u-young");
    EXPECT_EQ(feed.all().at("u-young").hidden_by, "");
}

TEST_F(PolicyFeedTest,
       an_object_that_became_unreadable_is_gone_and_a_full_sink_is_offered_it_again) {
    EXPECT_TRUE(show("q", "2", "5"));
    sink.room = sink.events.size();
    EXPECT_FALSE(show("q", "many", "6"));
    sink.room = 100;
    EXPECT_TRUE(show("q", "many", "6"));
    ASSERT_EQ(changes().size(), 2u);
    EXPECT_EQ(changes()[1].gone[0].uid, "u-q");
    EXPECT_NE(feed.all().at("u-q").reading.problem, "");
}

}  // namespace
}  // namespace gpuctl::k8s
