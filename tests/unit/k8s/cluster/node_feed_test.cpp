// A node is reported in the pool of the ComputePool that names it, whatever its label says.

#include "k8s/cluster/node_feed.hpp"

#include <gtest/gtest.h>

#include "aio/loop.hpp"
#include "unit/k8s/cluster/adapter_fixture.hpp"

namespace gpuctl::k8s {
namespace {

class NodePoolTest : public ::testing::Test {
protected:
    NodePoolTest() { outbox.attach(sink); }

    void show(const std::string& version, const nlohmann::json& labels) {
        const nlohmann::json node{
            {"metadata", {{"name", "n1"}, {"uid", "u1"}, {"labels", labels}}}};
        EXPECT_TRUE(feed.on_object(Change::modified, {"", "n1", "u1", version}, node.dump()));
    }
    std::string pool_of_n1() {
        const auto all = sink.all<NodeObserved>();
        return all.empty() ? "none" : all.back().node.pool;
    }

    aio::Loop loop;
    Sink sink;
    Outbox outbox{loop};
    NodeFeed feed{outbox, LabelKeys{}, [] {}};
};

TEST_F(NodePoolTest, the_pool_that_names_a_node_wins_over_its_label) {
    show("1", {{"runwhere.ai/pool", "mine"}});
    EXPECT_EQ(pool_of_n1(), "mine");
    feed.assign({{"n1", {"infer", "L40"}}}, true);
    EXPECT_EQ(pool_of_n1(), "infer");
    EXPECT_EQ(sink.all<NodeObserved>().back().node.gpu_model, "L40");
    show("2", {{"runwhere.ai/pool", "another"}});
    EXPECT_EQ(pool_of_n1(), "infer");
    EXPECT_EQ(feed.find("n1")->labels.at("runwhere.ai/pool"), "another") << "as it is there";
    feed.assign({}, true);
    EXPECT_EQ(pool_of_n1(), "another") << "its own label";
}

TEST_F(NodePoolTest, a_projected_label_counts_only_where_there_are_no_pools) {
    show("1", {{"runwhere.ai/pool", "gone"}, {"runwhere.ai/pool-source", "computepool"}});
    EXPECT_EQ(pool_of_n1(), "gone");
    feed.assign({}, true);
    EXPECT_EQ(pool_of_n1(), "default");
    feed.assign({}, false);
    EXPECT_EQ(pool_of_n1(), "gone");
}

}  // namespace
}  // namespace gpuctl::k8s
