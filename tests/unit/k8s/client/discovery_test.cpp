#include "k8s/watch/discovery.hpp"

#include <gtest/gtest.h>

namespace gpuctl::k8s {
namespace {

TEST(Discovery, finds_the_newest_readable_version_of_what_is_served) {
    const auto offered = dialects_offered(R"({"kind":"APIGroupList","groups":[
      {"name":"scheduling.k8s.io","versions":[{"groupVersion":"scheduling.k8s.io/v1"},
        {"groupVersion":"scheduling.k8s.io/v1alpha2"}]},
      {"name":"scheduling.volcano.sh","versions":[{"groupVersion":"scheduling.volcano.sh/v1beta1"}]},
      {"name":"apps","versions":[{"groupVersion":"apps/v1"}]}]})");
    ASSERT_EQ(offered.size(), 2u);
    EXPECT_EQ(offered[0].group, "scheduling.volcano.sh");
    EXPECT_EQ(offered[1].version, "v1alpha2");
    EXPECT_TRUE(
        serves(R"({"resources":[{"name":"podgroups","verbs":["list","watch"]}]})", "podgroups"));
    EXPECT_FALSE(
        serves(R"({"resources":[{"name":"podgroups/status","verbs":["watch"]}]})", "podgroups"));
    EXPECT_FALSE(serves("<html>", "podgroups"));
}

}  // namespace
}  // namespace gpuctl::k8s
