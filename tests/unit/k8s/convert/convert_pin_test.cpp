// Which node a pod names, as the DaemonSet controller does.

#include "unit/k8s/convert/convert_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using convert_fixture::basic_pod;
using convert_fixture::facts;
using convert_fixture::Json;

NodePin pin_with(const char* affinity, const char* selector = "{}") {
    Json pod = basic_pod();
    pod["spec"]["nodeSelector"] = Json::parse(selector);
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", Json::parse(affinity)}};
    return facts(pod).pin;
}

const NodePin kByName{"", "n1"};
const NodePin kByLabel{"kubernetes.io/hostname", "n1"};

TEST(ConvertPin, one_name_in_all_terms_is_a_node_that_the_pod_names) {
    const char* field =
        R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]})";
    EXPECT_EQ(pin_with(("[" + std::string{field} + "]").c_str()), kByName);
    EXPECT_EQ(pin_with(("[" + std::string{field} + "," + field + "]").c_str()), kByName);
    EXPECT_EQ(pin_with(("[{}," + std::string{field} + "]").c_str()), kByName)
        << "an empty term matches nothing";
    EXPECT_EQ(pin_with(R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",
                           "values":["n1"]},{"key":"a","operator":"Exists"}]}])"),
              kByLabel);
    EXPECT_EQ(pin_with("[]", R"({"kubernetes.io/hostname":"n1"})"), kByLabel);
}

TEST(ConvertPin, the_first_of_several_hostnames_gives_the_pool) {
    EXPECT_EQ(pin_with(R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",
                           "values":["n1","n2"]}]}])"),
              kByLabel);
}

TEST(ConvertPin, the_node_of_the_first_of_several_terms_gives_the_pool) {
    EXPECT_EQ(
        pin_with(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},
              {"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}])"),
        kByName);
}

TEST(ConvertPin, terms_for_any_node_or_by_other_labels_name_no_node) {
    for (const char* affinity :
         {R"([])",
          R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n1"]}]}])",
          R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},
              {"matchExpressions":[{"key":"a","operator":"Exists"}]}])",
          R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["n1"]}]}])"}) {
        EXPECT_EQ(pin_with(affinity), NodePin{}) << affinity;
    }
}

TEST(ConvertPin, a_pod_of_another_scheduler_is_not_pinned) {
    Json pod = basic_pod();
    pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n1"}};
    pod["spec"]["schedulerName"] = "default-scheduler";
    EXPECT_EQ(facts(pod).pin, NodePin{});
}

}  // namespace
}  // namespace gpuctl::k8s
