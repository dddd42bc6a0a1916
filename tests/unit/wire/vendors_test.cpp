// The table of GPU vendors and its file.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "daemon/config/vendors/vendor_file.hpp"
#include "scheduler/model/amount_text.hpp"
#include "unit/wire/support.hpp"

namespace gpuctl::config {
namespace {

using wire::holds;

TEST(Vendors, the_shipped_file_is_the_built_in_table) {
    const std::string path = wire::source_path("config/vendors.yaml");
    if (std::getenv("GPUCTL_UPDATE_GOLDEN") != nullptr) {
        std::ofstream{path} << print_vendors(built_in_gpu_vendors());
    }
    const std::string file = wire::read_source("config/vendors.yaml");
    EXPECT_EQ(file, print_vendors(built_in_gpu_vendors()));
    std::deque<std::string> texts;
    const auto read = read_vendors(file, "vendors.yaml", texts);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(print_vendors(*read), file);
    EXPECT_TRUE(read->vendors == built_in_gpu_vendors().vendors) << "members of maps are sorted";
    EXPECT_EQ(read->loader_environment, built_in_gpu_vendors().loader_environment);
}

TEST(Vendors, the_built_in_table_has_no_problem) {
    EXPECT_EQ(problem_with(built_in_gpu_vendors()), "");
}

std::string vendors_refusal(const std::string& yaml) {
    std::deque<std::string> texts;
    const auto read = read_vendors(yaml, "vendors.yaml", texts);
    return read ? "" : read.error().message;
}

TEST(Vendors, a_file_that_cannot_be_used_is_refused_with_its_place_and_what_is_wrong) {
    const std::pair<const char*, const char*> files[] = {
        {"vendors: []", "at least one is needed"},
        {"{}", "vendors is missing"},
        {"vendors: [{name: a}]", "resource is missing"},
        {"vendors: [{name: a, resource: gpu}]", "\"gpu\" is not a resource name such as"},
        {"vendors: [{name: a, resource: a/gpu, alias: [b]}]", "did you mean aliases?"},
        {"vendors: [{name: a, resource: a/gpu}, {name: b, aliases: [A], resource: b/gpu}]",
         "vendor b: the name A is given twice"},
        {"vendors: [{name: a, resource: a/gpu}, {name: b, resource: a/gpu}]",
         "vendor b: the resource a/gpu is given twice"},
        {"vendors: [{name: a, resource: a/gpu, memoryResources: {a/mem: lots}}]",
         "must be a quantity such as 1Mi"},
        {"vendors: [{name: a, resource: a/gpu, visibleDevicesVariable: X}]",
         "noDevices is missing"}};
    for (const auto& [yaml, why] : files) {
        const std::string message = vendors_refusal(yaml);
        EXPECT_TRUE(holds(message, why)) << yaml << ": " << message;
        EXPECT_TRUE(holds(message, "vendors.yaml")) << message;
    }
}

TEST(Vendors, a_missing_file_is_refused_with_the_key_that_names_it) {
    const auto used = use_vendors_file_once("/nonexistent/vendors.yaml");
    ASSERT_TRUE(used.has_error());
    EXPECT_TRUE(holds(used.error().message, "names.vendorsFile"));
    EXPECT_TRUE(holds(used.error().message, "/nonexistent/vendors.yaml"));
}

TEST(Vendors, resources_of_plugins_that_share_devices_are_known) {
    const std::pair<const char*, GpuPart> known[] = {
        {"aliyun.com/gpu-mem", GpuPart::memory},
        {"nvidia.com/gpumem", GpuPart::memory},
        {"nvidia.com/gpumem-percentage", GpuPart::memory_percent},
        {"nvidia.com/gpucores", GpuPart::cores},
        {"huawei.com/Ascend910B3-memory", GpuPart::memory},
        {"huawei.com/Ascend910B3", GpuPart::share_count},
        {"iluvatar.ai/BI-V100.vMem", GpuPart::memory},
        {"hygon.com/dcucores", GpuPart::cores},
        {"cambricon.com/mlu.smlu.vmemory", GpuPart::memory}};
    for (const auto& [resource, part] : known) {
        const auto found = find_gpu_part(resource);
        ASSERT_TRUE(found.has_value()) << resource;
        EXPECT_EQ(found->part, part) << resource;
        EXPECT_FALSE(is_gpu_resource(resource)) << resource << " is no whole device";
    }
    for (const char* other : {"nvidia.com/gpu", "huawei.com/-memory", "rdma/hca", ""}) {
        EXPECT_FALSE(find_gpu_part(other).has_value()) << other;
    }
    EXPECT_EQ(amounts::amount_text(ResourceKind::extended, "nvidia.com/gpumem", 3072),
              "3Gi GPU memory (nvidia.com/gpumem)");
    EXPECT_EQ(amounts::amount_text(ResourceKind::extended, "aliyun.com/gpu-mem", 3),
              "3Gi GPU memory (aliyun.com/gpu-mem)");
    EXPECT_EQ(amounts::amount_text(ResourceKind::extended, "nvidia.com/gpucores", 30),
              "30 percent of a GPU's compute (nvidia.com/gpucores)");
}

// The table of the process is put back by the end of the test.
TEST(Vendors, another_table_takes_effect_in_all_that_reads_it) {
    std::deque<std::string> texts;
    auto table = read_vendors(
        "loaderVariables: [EVIL_PRELOAD]\n"
        "vendors: [{name: acme, aliases: [anvil], resource: acme.example/chip, "
        "deviceVariables: [ACME_CHIPS], modelPrefixes: [ROADRUNNER]}]\n",
        "vendors.yaml", texts);
    ASSERT_TRUE(table.has_value()) << table.error().message;
    use_gpu_vendors(*table);
    EXPECT_TRUE(is_gpu_resource("acme.example/chip"));
    EXPECT_FALSE(is_gpu_resource("nvidia.com/gpu"));
    EXPECT_EQ(find_gpu_vendor("Anvil")->resource, "acme.example/chip");
    EXPECT_EQ(platform_variable("ACME_CHIPS"), PlatformVariable::devices);
    EXPECT_EQ(platform_variable("EVIL_PRELOAD"), PlatformVariable::loader);
    EXPECT_EQ(platform_variable("LD_PRELOAD"), PlatformVariable::none);
    use_gpu_vendors(built_in_gpu_vendors());
    EXPECT_TRUE(is_gpu_resource("nvidia.com/gpu"));
}

}  // namespace
}  // namespace gpuctl::config
