// Fractions of GPUs: as requested by pods, and as read back from the API server.

#include <gtest/gtest.h>

#include "k8s/convert/convert_pod.hpp"

namespace gpuctl::k8s {
namespace {

PodFacts read(const std::string& annotations, const std::string& limits = "",
              const std::string& scheduler = "gpuctl", const std::string& selector = "") {
    const auto pod = read_pod(
        R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" + annotations +
            R"(}},"spec":{"schedulerName":")" + scheduler + R"(","nodeSelector":{)" + selector +
            R"(},"nodeName":"a","containers":[{"name":"main","resources":)" +
            R"({"requests":{"cpu":"1")" + limits + "}}}]}}",
        PodReadSettings{});
    EXPECT_TRUE(pod.has_value());
    return pod->facts;
}

TEST(GpuPart, is_read_from_the_annotation_and_its_device_from_the_binding) {
    const PodFacts pod = read(R"("runwhere.ai/gpu-fraction":"0.5","runwhere.ai/gpu-device":"2")");
    ASSERT_EQ(pod.request.gpus.size(), 1u);
    EXPECT_EQ(pod.request.gpus[0], (GpuAmount{"nvidia.com/gpu", GpuMilli{500}}));
    EXPECT_EQ(pod.gpu_device, 2);
    EXPECT_TRUE(pod.unsupported.empty());
}

// The device plugin of any other node gives the same card to a pod that requests a whole one.
TEST(ConvertGpuPart, a_part_is_offered_only_by_nodes_that_are_labelled_for_parts) {
    const PodFacts pod = read(R"("runwhere.ai/gpu-fraction":"0.5")");
    EXPECT_EQ(
        pod.rules.node_selector,
        (std::vector<std::pair<std::string, std::string>>{{"runwhere.ai/gpu-sharing", "true"}}));
}

TEST(GpuPart, without_a_binding_has_no_device) {
    EXPECT_EQ(read(R"("runwhere.ai/gpu-fraction":"0.5")").gpu_device, kNoDevice);
    EXPECT_EQ(read(R"("runwhere.ai/gpu-fraction":"0.5","runwhere.ai/gpu-device":"x")").gpu_device,
              kNoDevice);
}

TEST(GpuPart, of_another_vendor_requests_the_resource_of_that_vendor) {
    const PodFacts pod = read(
        R"("runwhere.ai/gpu-fraction":"0.25","runwhere.ai/gpu-resource":"huawei.com/Ascend910")");
    ASSERT_EQ(pod.request.gpus.size(), 1u);
    EXPECT_EQ(pod.request.gpus[0].resource, "huawei.com/Ascend910");
}

TEST(GpuPart, that_is_impossible_is_reported) {
    for (const char* wrong :
         {"1", "2", "0", "1.5", "half", "-1", "8G,0.5", "0.5(V100)", "2(vgpu)"}) {
        const PodFacts pod = read(R"("runwhere.ai/gpu-fraction":")" + std::string{wrong} + R"(")");
        EXPECT_TRUE(pod.request.gpus.empty()) << wrong;
        ASSERT_EQ(pod.unsupported.size(), 1u) << wrong;
        EXPECT_NE(pod.unsupported[0].find("instead of a part of one GPU"), std::string::npos);
    }
    const PodFacts both = read(R"("runwhere.ai/gpu-fraction":"0.5")", R"(,"nvidia.com/gpu":"1")");
    ASSERT_EQ(both.unsupported.size(), 1u);
    EXPECT_NE(both.unsupported[0].find("together with whole GPUs"), std::string::npos);
    const PodFacts odd =
        read(R"("runwhere.ai/gpu-fraction":"0.5","runwhere.ai/gpu-resource":"a/b")");
    ASSERT_EQ(odd.unsupported.size(), 1u);
    EXPECT_NE(odd.unsupported[0].find("which is not a GPU"), std::string::npos);
}

TEST(GpuPart, is_as_much_as_its_memory_is_of_the_model_that_the_pod_requires) {
    const std::string product = R"("nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB")";
    const auto amount = [](const PodFacts& pod) {
        EXPECT_TRUE(pod.unsupported.empty());
        return pod.request.gpus.empty() ? GpuMilli{} : pod.request.gpus[0].amount;
    };
    EXPECT_EQ(amount(read(R"("runwhere.ai/gpu-memory":"20Gi")", "", "gpuctl", product)),
              GpuMilli{250});
    EXPECT_EQ(amount(read(R"("runwhere.ai/gpu-memory":"20Gi","runwhere.ai/gpu-fraction":"0.4")", "",
                          "gpuctl", product)),
              GpuMilli{400});
    EXPECT_EQ(amount(read(R"("runwhere.ai/gpu-memory":"10Gi","runwhere.ai/gpu-type":"A100-40G")")),
              GpuMilli{250});
    const std::pair<const char*, const char*> refused[] = {{"20Gi", "no GPU model is named"},
                                                           {"lots", "not an amount of memory"}};
    for (const auto& [memory, why] : refused) {
        const PodFacts pod = read(R"("runwhere.ai/gpu-memory":")" + std::string{memory} + R"(")");
        ASSERT_EQ(pod.unsupported.size(), 1u) << memory;
        EXPECT_NE(pod.unsupported[0].find(why), std::string::npos) << pod.unsupported[0];
    }
    const PodFacts whole = read(R"("runwhere.ai/gpu-memory":"80Gi")", "", "gpuctl", product);
    ASSERT_EQ(whole.unsupported.size(), 1u);
    EXPECT_NE(whole.unsupported[0].find("a whole GPU"), std::string::npos);
}

TEST(GpuPart, of_a_pod_of_another_scheduler_is_not_read) {
    EXPECT_TRUE(read(R"("runwhere.ai/gpu-fraction":"0.5")", "", "other").request.gpus.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
