// The status of a ComputePool, and the labels of its nodes.

#include <gtest/gtest.h>

#include "k8s/policy/policy_status.hpp"
#include "k8s/policy/pool_labels.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;

json condition_named(const json& status, const std::string& type) {
    for (const json& one : status["conditions"]) {
        if (one["type"] == type) return one;
    }
    return json::object();
}

class PolicyStatus : public ::testing::Test {
protected:
    PolicyStatus() {
        object.reading.generation = 2;
        report.nodes = 2;
        report.gpus = GpuMilli{8'000};
        report.gpus_used = GpuMilli{2'500};
    }
    json status(PolicyKind kind = PolicyKind::pool) {
        return policy_status(kind, object, &report, Instant{1'000'000'000'000});
    }

    WatchedPolicyObject object;
    ports::PolicyObjectStatus report;
};

TEST_F(PolicyStatus, has_the_figures_and_two_conditions) {
    const json made = status();
    EXPECT_EQ(made["observedGeneration"], 2);
    EXPECT_EQ(made["phase"], "Ready");
    EXPECT_EQ(made["nodes"], 2);
    EXPECT_EQ(made["totalCapacity"], 8);
    EXPECT_EQ(made["allocatedCapacity"], 2.5);
    EXPECT_EQ(made["availableCapacity"], 5.5);
    EXPECT_EQ(condition_named(made, "Accepted")["status"], "True");
    EXPECT_EQ(condition_named(made, "Ready")["status"], "True");
}

TEST_F(PolicyStatus, says_why_an_object_is_not_used_or_not_ready) {
    report.nodes = 0;
    EXPECT_EQ(condition_named(status(), "Ready")["reason"], "PoolEmpty");
    report.nodes_gone = {"n9"};
    EXPECT_EQ(condition_named(status(), "Ready")["reason"], "NodeNotFound");
    report.problem = "n1 is in pool old";
    report.problem_code = "Conflict";
    EXPECT_EQ(condition_named(status(), "Accepted")["status"], "True") << "used, without n1";
    EXPECT_EQ(condition_named(status(), "Ready")["message"], "n1 is in pool old");
    report.is_used = false;
    EXPECT_EQ(condition_named(status(), "Accepted")["reason"], "Conflict");
    EXPECT_EQ(status()["phase"], "NotUsed");
    object.reading.problem = "the pool document: wrong";
    EXPECT_EQ(condition_named(status(), "Accepted")["reason"], "Invalid");
    EXPECT_TRUE(policy_status(PolicyKind::pool, WatchedPolicyObject{}, nullptr, {}).is_null())
        << "not known yet";
}

TEST_F(PolicyStatus, a_condition_keeps_its_time_and_those_of_other_clients_stay) {
    json stored = status();
    for (json& one : stored["conditions"]) one["lastTransitionTime"] = "2026-01-01T00:00:00Z";
    stored["conditions"].push_back({{"type", "Audited"}, {"status", "True"}});
    object.reading.status = stored;
    const json again = status();
    EXPECT_EQ(again, stored);
    EXPECT_TRUE(is_same_status(again, stored));
    report.gpus_used = GpuMilli{3'000};
    EXPECT_FALSE(is_same_status(status(), stored));
    EXPECT_TRUE(are_same_conditions(status(), stored));
    report.nodes = 0;
    const json empty = status();
    EXPECT_FALSE(are_same_conditions(empty, stored));
    EXPECT_NE(condition_named(empty, "Ready")["lastTransitionTime"], "2026-01-01T00:00:00Z");
    EXPECT_EQ(condition_named(empty, "Accepted")["lastTransitionTime"], "2026-01-01T00:00:00Z");
}

TEST(PoolLabelChange, a_named_node_gets_the_labels_and_a_node_that_has_them_is_left_alone) {
    const ports::NodeMembership member{"infer", "L40"};
    WatchedNode node{"u1", "5", false, {{"runwhere.ai/pool", "other"}}};
    const auto change = label_change("n1", node, &member, LabelKeys{});
    ASSERT_TRUE(change);
    EXPECT_EQ(change->set,
              (std::map<std::string, std::string>{{"runwhere.ai/pool", "infer"},
                                                  {"runwhere.ai/pool-source", "computepool"},
                                                  {"runwhere.ai/gpu-type", "L40"}}));
    EXPECT_TRUE(change->overwrite);
    EXPECT_EQ(change->uid, "u1");
    node.labels = change->set;
    EXPECT_FALSE(label_change("n1", node, &member, LabelKeys{}));
}

TEST(PoolLabelChange, only_a_label_that_a_pool_had_set_is_removed) {
    WatchedNode node{"u1", "5", false, {{"runwhere.ai/pool", "mine"}}};
    EXPECT_FALSE(label_change("n1", node, nullptr, LabelKeys{})) << "its own label";
    node.labels["runwhere.ai/pool-source"] = "computepool";
    const auto change = label_change("n1", node, nullptr, LabelKeys{});
    ASSERT_TRUE(change);
    EXPECT_EQ(change->remove,
              (std::vector<std::string>{"runwhere.ai/pool", "runwhere.ai/pool-source"}));
}

}  // namespace
}  // namespace gpuctl::k8s
