// The roles of a gang in pods and PodGroups (ADR 0026).

#include "k8s/convert/convert_group.hpp"
#include "unit/k8s/convert/convert_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using convert_fixture::basic_pod;
using convert_fixture::facts;
using convert_fixture::Json;

using Minima = std::vector<RoleMinimum>;

Json rank() {
    Json pod = basic_pod();
    pod["metadata"]["labels"]["runwhere.ai/gang"] = "llm";
    return pod;
}

GangSize size_of(const std::string& spec, GangField field) {
    const auto gangs = read_gangs(
        R"({"metadata":{"namespace":"t","name":"g"},"spec":)" + spec + "}", field, LabelKeys{});
    EXPECT_TRUE(gangs.has_value());
    return gangs ? gangs->front().size : GangSize{};
}

TEST(ConvertRoles, a_role_is_read_from_our_label_or_from_that_of_the_controller) {
    const auto role_of = [](const char* pointer) {
        Json pod = rank();
        pod[Json::json_pointer(pointer)] = "worker";
        return facts(pod).role;
    };
    EXPECT_EQ(role_of("/metadata/labels/runwhere.ai~1gang-role"), "worker");
    EXPECT_EQ(role_of("/metadata/labels/kai.scheduler~1subgroup-name"), "worker");
    EXPECT_EQ(role_of("/metadata/annotations/volcano.sh~1task-spec"), "worker");
    EXPECT_EQ(role_of("/metadata/labels/jobset.sigs.k8s.io~1replicatedjob-name"), "worker");
    EXPECT_EQ(role_of("/metadata/labels/training.kubeflow.org~1replica-type"), "worker");
    Json pod = rank();
    pod["metadata"]["labels"]["training.kubeflow.org/replica-type"] = "master";
    pod["metadata"]["labels"]["runwhere.ai/gang-role"] = "leader";
    EXPECT_EQ(facts(pod).role, "leader") << "ours wins";
}

TEST(ConvertRoles, a_pod_outside_gangs_has_no_role) {
    Json pod = basic_pod();
    pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] = "worker";
    EXPECT_EQ(facts(pod).role, "");
    EXPECT_TRUE(facts(pod).unsupported.empty());
}

TEST(ConvertRoles, pods_with_minima_of_all_roles_need_no_size) {
    Json pod = rank();
    pod["metadata"]["annotations"]["runwhere.ai/gang-roles"] = "worker=4, leader=1";
    EXPECT_EQ(facts(pod).gang_roles, (Minima{{"leader", 1}, {"worker", 4}}));
    EXPECT_EQ(facts(pod).gang_min_problem, "");
    EXPECT_TRUE(facts(pod).unsupported.empty());
}

TEST(ConvertRoles, an_unreadable_value_is_reported_and_holds_the_pod) {
    for (const char* wrong :
         {"leader", "leader=0", "leader=x", "=1", "leader=1,,worker=2", "leader=1;worker=2",
          "a b=1", "leader=99999999999", "leader=1,leader=2"}) {
        Json pod = rank();
        pod["metadata"]["annotations"]["runwhere.ai/gang-roles"] = wrong;
        EXPECT_TRUE(facts(pod).gang_roles.empty()) << wrong;
        ASSERT_EQ(facts(pod).unsupported.size(), 1U) << wrong;
        EXPECT_EQ(facts(pod).unsupported.front(),
                  "the annotation runwhere.ai/gang-roles \"" + std::string{wrong} +
                      "\", not a list of roles with their numbers (\"leader=1,worker=4\")");
        EXPECT_EQ(facts(pod).gang_min_problem,
                  "the annotation runwhere.ai/gang-roles on its pods is \"" + std::string{wrong} +
                      "\", not a list of roles with their numbers (\"leader=1,worker=4\")");
    }
}

TEST(ConvertRoles, minima_without_a_gang_are_reported_and_not_started_alone) {
    Json pod = basic_pod();
    pod["metadata"]["annotations"]["runwhere.ai/gang-roles"] = "leader=1";
    ASSERT_EQ(facts(pod).unsupported.size(), 1U);
    EXPECT_EQ(facts(pod).unsupported.front(),
              "the annotation runwhere.ai/gang-roles without the label runwhere.ai/gang");
}

TEST(ConvertRoles, volcano_minima_of_tasks_count_only_within_the_minimum_of_the_group) {
    const char* within = R"({"minMember":5,"minTaskMember":{"worker":4,"leader":1}})";
    EXPECT_EQ(size_of(within, GangField::task_member),
              (GangSize{5, {{"leader", 1}, {"worker", 4}}}));
    const char* beyond = R"({"minTaskMember":{"worker":4,"leader":1},"minMember":2})";
    EXPECT_EQ(size_of(beyond, GangField::task_member), (GangSize{2, {}}));
}

TEST(ConvertRoles, kai_minima_are_those_of_the_leaves_of_its_sub_groups) {
    const char* tree = R"({"subGroups":[{"name":"decode","minMember":5},
        {"name":"leader","minMember":1,"parent":"decode"},
        {"name":"worker","minMember":4,"parent":"decode","topologyConstraint":{"x":[1]}},
        {"name":"router","minMember":1}]})";
    EXPECT_EQ(size_of(tree, GangField::sub_groups),
              (GangSize{6, {{"leader", 1}, {"router", 1}, {"worker", 4}}}));
    EXPECT_EQ(size_of(tree, GangField::min_member), GangSize{}) << "another dialect's word";
}

}  // namespace
}  // namespace gpuctl::k8s
