#include "scheduler/model/gpu/gpu_memory.hpp"

#include <gtest/gtest.h>

namespace gpuctl {
namespace {

constexpr Bytes gibibytes(std::int64_t count) { return Bytes{count << 30}; }

TEST(GpuMemory, is_read_from_the_label_else_the_smallest_of_the_model) {
    const std::pair<const char*, std::int64_t> known[] = {
        {"A100-100G", 100},
        {"a10-24g", 24},
        {"NVIDIA-A100-SXM4-80GB", 80},
        {"NVIDIA-A100-PCIE-40GB", 40},
        {"A100", 40},
        {"Tesla-V100-SXM2-32GB", 32},
        {"Tesla-T4", 16},
        {"NVIDIA-H100-NVL-94GB", 94},
        {"NVIDIA-H200", 141},
        {"NVIDIA-GH200-480GB", 96},
        {"NVIDIA-GH200-144G-HBM3e", 144},
        {"NVIDIA-GeForce-RTX-4090", 24},
        {"AMD-Instinct-MI300X", 192},
    };
    for (const auto& [label, count] : known) {
        EXPECT_EQ(gpu_memory_of(label), gibibytes(count)) << label;
    }
    for (const char* label : {"", "warp-9", "G", "0G", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}) {
        EXPECT_EQ(gpu_memory_of(label), std::nullopt) << label;
    }
}

TEST(GpuMemory, a_part_is_rounded_up_and_is_one_of_the_smallest_model) {
    EXPECT_EQ(part_by_memory(gibibytes(20), {"A100-80G"}).value(), GpuMilli{250});
    EXPECT_EQ(part_by_memory(gibibytes(20), {"A100-80G", "A100-40G"}).value(), GpuMilli{500});
    EXPECT_EQ(part_by_memory(gibibytes(1), {"A100-80G"}).value(), GpuMilli{13});
    EXPECT_EQ(part_by_memory(Bytes{1}, {"A100-80G"}).value(), GpuMilli{1});
    EXPECT_EQ(part_by_memory(gibibytes(80), {"A100-80G"}).value(), whole_gpus(1));
    EXPECT_TRUE(part_by_memory(gibibytes(81), {"A100-80G"}).has_error());
    EXPECT_TRUE(part_by_memory(gibibytes(1), {}).has_error());
    EXPECT_TRUE(part_by_memory(gibibytes(1), {"A100-80G", "warp-9"}).has_error());
}

}  // namespace
}  // namespace gpuctl
