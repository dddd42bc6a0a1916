#include "scheduler/model/policy/quantity.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {
namespace {

struct QuantityCase {
    const char* text;
    int decimals;
    std::optional<std::int64_t> value;
};

TEST(Quantity, reads_every_kubernetes_form_exactly_and_rounds_up) {
    const QuantityCase cases[] = {
        {"0", 0, 0},
        {"8", 3, 8000},
        {"+8", 3, 8000},
        {"8000m", 3, 8000},
        {"0.5", 3, 500},
        {".5", 3, 500},
        {"5.", 0, 5},
        {"0.1", 0, 1},
        {"0.0001", 3, 1},
        {"1n", 0, 1},
        {"1u", 3, 1},
        {"100k", 0, 100'000},
        {"1M", 0, 1'000'000},
        {"1G", 0, 1'000'000'000},
        {"1T", 0, 1'000'000'000'000},
        {"1P", 0, 1'000'000'000'000'000},
        {"9E", 0, 9'000'000'000'000'000'000},
        {"1Ki", 0, 1024},
        {"1.5Gi", 0, 1610612736},
        {"32Gi", 0, 34359738368},
        {"1Ti", 0, 1099511627776},
        {"7Ei", 0, 8070450532247928832},
        {"1e3", 0, 1000},
        {"1E3", 0, 1000},
        {"1e-3", 3, 1},
        {"12e-1", 0, 2},
        {"0e999", 0, 0},
        {"-1", 0, -1},
        {"-1.5", 0, -2},
        {"9223372036854775807", 0, 9223372036854775807},
        {"10000000000000000000n", 0, 10'000'000'000},
        {"0.00000000000000000000000000001", 0, 1},
    };
    for (const QuantityCase& one : cases) {
        EXPECT_EQ(parse_quantity(one.text, one.decimals), one.value) << one.text;
    }
}

TEST(Quantity, refuses_text_that_is_no_quantity_or_overflows) {
    for (const char* text : {"",      " ",    "1 ",    " 1",      "Gi",
                             ".",     "+",    "-",     "1.2.3",   "1e",
                             "1e+",   "1Gib", "1gi",   "1K",      "1mi",
                             "1,5",   "0x10", "1_000", "NaN",     "9223372036854775808",
                             "8Ei",   "10E",  "1e19",  "1e99999", "--1",
                             "1e3Gi", "１"}) {
        EXPECT_EQ(parse_quantity(text, 0), std::nullopt) << text;
    }
    EXPECT_EQ(parse_quantity(std::string(100, '1'), 0), std::nullopt);
    EXPECT_EQ(parse_cpu("-1"), std::nullopt);
    EXPECT_EQ(parse_bytes("-1Gi"), std::nullopt);
}

TEST(Quantity, prints_the_shortest_exact_form) {
    EXPECT_EQ(format_cpu(CpuMilli{8000}), "8");
    EXPECT_EQ(format_cpu(CpuMilli{500}), "500m");
    EXPECT_EQ(format_bytes(Bytes{0}), "0");
    EXPECT_EQ(format_bytes(Bytes{34359738368}), "32Gi");
    EXPECT_EQ(format_bytes(Bytes{1000}), "1000");
    EXPECT_EQ(format_bytes(Bytes{1536}), "1536");
    EXPECT_EQ(format_bytes(Bytes{2048}), "2Ki");
    EXPECT_EQ(format_gpus(GpuMilli{8000}), "8");
    EXPECT_EQ(format_gpus(GpuMilli{500}), "0.5");
    EXPECT_EQ(format_gpus(GpuMilli{1005}), "1.005");
}

RC_GTEST_PROP(Quantity, a_printed_quantity_reads_back_the_same, ()) {
    const auto value = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
    RC_ASSERT(parse_bytes(format_bytes(Bytes{value})) == Bytes{value});
    RC_ASSERT(parse_cpu(format_cpu(CpuMilli{value})) == CpuMilli{value});
    RC_ASSERT(parse_quantity(format_gpus(GpuMilli{value}), 3) == value);
}

TEST(GpuVendor, aliases_resources_and_models_lead_to_the_vendor) {
    EXPECT_EQ(find_gpu_vendor("NPU")->alias, "ascend");
    EXPECT_EQ(find_gpu_vendor("gpu")->resource, "nvidia.com/gpu");
    EXPECT_EQ(find_gpu_vendor("A100"), nullptr);
    EXPECT_EQ(find_gpu_vendor(""), nullptr);
    EXPECT_EQ(vendor_of_model("MI300X").alias, "amd");
    EXPECT_EQ(vendor_of_model("ascend910b").alias, "ascend");
    EXPECT_EQ(vendor_of_model("H100").alias, "nvidia");
    EXPECT_EQ(vendor_of_model("").alias, "nvidia");
    EXPECT_TRUE(is_gpu_resource("nvidia.com/mig-1g.10gb"));
    EXPECT_TRUE(is_gpu_resource("huawei.com/Ascend310P"));
    EXPECT_FALSE(is_gpu_resource("nvidia.com/mig-"));
    EXPECT_FALSE(is_gpu_resource("rdma/hca"));
    EXPECT_FALSE(is_gpu_resource(""));
}

}  // namespace
}  // namespace gpuctl
