// How keys of labels are read.

#include "wire/label_key.hpp"

#include <gtest/gtest.h>

namespace gpuctl::wire {
namespace {

std::string key_of(std::string_view written) {
    const auto key = read_label_key(written, "runwhere.ai");
    return key ? key->key : "refused";
}

std::string warning_of(std::string_view written) {
    return read_label_key(written, "runwhere.ai")->warning;
}

TEST(LabelKeys, a_key_without_a_domain_is_ours_and_in_kebab_case) {
    EXPECT_EQ(key_of("gpuType"), "runwhere.ai/gpu-type");
    EXPECT_EQ(key_of("gpu-type"), "runwhere.ai/gpu-type");
    EXPECT_EQ(key_of("GPUType"), "runwhere.ai/gpu-type");
    EXPECT_EQ(key_of("pool"), "runwhere.ai/pool");
    EXPECT_EQ(key_of("maxGPU"), "runwhere.ai/max-gpu");
    EXPECT_EQ(warning_of("gpuType"), "");
}

TEST(Acceptance, J2_a_key_with_the_prefix_keeps_it_once) {
    EXPECT_EQ(key_of("runwhere.ai/gpu-type"), "runwhere.ai/gpu-type");
}

TEST(LabelKeys, a_domain_of_an_earlier_product_becomes_ours_with_a_warning) {
    EXPECT_EQ(key_of("g8s.host/gpuType"), "runwhere.ai/gpu-type");
    EXPECT_NE(warning_of("g8s.host/gpuType").find("g8s.host"), std::string::npos);
    EXPECT_EQ(key_of("gpuctl/pool"), "runwhere.ai/pool");
}

TEST(LabelKeys, other_domains_stay_and_those_of_kubernetes_are_refused_with_what_is_right) {
    EXPECT_EQ(key_of("company.com/gpuModel"), "company.com/gpuModel");
    for (const char* reserved :
         {"kubernetes.io/hostname", "node-role.kubernetes.io/gpu", "topology.kubernetes.io/rack",
          "k8s.io/x", "scheduling.k8s.io/x"}) {
        const auto key = read_label_key(reserved, "runwhere.ai");
        ASSERT_FALSE(key) << reserved;
        EXPECT_EQ(key.error().code, ErrorCode::ValidationFailed);
        EXPECT_NE(key.error().message.find("runwhere.ai/"), std::string::npos)
            << key.error().message;
    }
}

TEST(LabelKeys, what_is_no_label_key_is_refused) {
    for (const std::string& bad :
         {std::string{}, std::string{"-a"}, std::string{"a b"}, std::string{"/a"},
          std::string{"a/"}, std::string{"a/b/c"}, std::string{"Company.com/a"},
          std::string{"a..b/c"}, std::string(64, 'a'), std::string{"a_/b"}}) {
        EXPECT_EQ(key_of(bad), "refused") << bad;
    }
}

TEST(LabelValues, an_empty_or_long_value_is_refused) {
    EXPECT_TRUE(check_label_value("k", "a100-80g"));
    EXPECT_TRUE(check_label_value("k", "A100_80.G"));
    for (const std::string& bad : {std::string{}, std::string(64, 'a'), std::string{"a b"},
                                   std::string{"-a"}, std::string{"a/b"}}) {
        EXPECT_FALSE(check_label_value("k", bad)) << bad;
    }
}

}  // namespace
}  // namespace gpuctl::wire
