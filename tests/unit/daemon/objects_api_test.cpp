// What a create says about a job's volumes, host paths and quota, on the embedded cluster.

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

aio::Task<void> create_with_volume(Daemon& daemon) {
    std::string yaml =
        training_yaml("vol", 1) + "storage: {data: {mountPath: /data, size: 100Gi}}\n";
    net::HttpResponse made = co_await daemon.create(std::move(yaml));
    EXPECT_EQ(made.status, 201) << made.body;
    net::HttpResponse shown = co_await daemon.get("/api/v1/jobs/vol");
    EXPECT_NE(shown.body.find("mountPath: /data"), std::string::npos) << shown.body;
    std::string refused =
        training_yaml("host", 1) + "storage: {workdirs: [{path: /var/lib/other}]}\n";
    net::HttpResponse outside = co_await daemon.create(std::move(refused));
    EXPECT_EQ(outside.status, 400);
    EXPECT_NE(outside.body.find("is not below an allowed one"), std::string::npos) << outside.body;
}

TEST(JobObjects, volumes_are_accepted_and_host_paths_need_a_root) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(create_with_volume);
}

aio::Task<void> create_in_missing_pool(Daemon& daemon) {
    net::HttpResponse refused = co_await daemon.create(training_yaml("lost", 1, 1, "no-such-pool"));
    EXPECT_EQ(error_code(refused), "PoolNotFound");
    EXPECT_NE(refused.body.find("no-such-pool"), std::string::npos) << refused.body;
    net::HttpResponse absent = co_await daemon.get("/api/v1/jobs/lost");
    EXPECT_EQ(absent.status, 404) << "nothing was created";
}

TEST(Acceptance, C7_a_missing_pool_is_named_and_nothing_is_created) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(create_in_missing_pool);
}

aio::Task<void> create_two_over_quota(Daemon& daemon) {
    net::HttpResponse first = co_await daemon.create(training_yaml("a", 3));
    EXPECT_EQ(first.status, 201) << first.body;
    EXPECT_TRUE(parsed(first)["warnings"].empty()) << first.body;
    const bool runs = co_await daemon.until_status("a", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse second = co_await daemon.create(training_yaml("b", 2));
    EXPECT_EQ(second.status, 201) << second.body;
    const nlohmann::json warnings = parsed(second)["warnings"];
    EXPECT_EQ(warnings.size(), 1u) << second.body;
    if (warnings.size() != 1) co_return;
    EXPECT_EQ(warnings[0]["message"],
              "the quota of namespace default leaves 1 of 4 GPUs, and the job needs 2; it waits "
              "until other jobs of the namespace release 1");
}

TEST(JobObjects, a_job_that_must_wait_for_quota_is_accepted_with_a_warning) {
    const TempDir directory;
    config::Config config = quick_config(directory.path());
    TenantPolicy tenant;
    tenant.name = "default";
    tenant.gpu_maximum = whole_gpus(4);
    config.policy.tenants = {tenant};
    Daemon{std::move(config)}.run(create_two_over_quota);
}

aio::Task<void> create_wide_job(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.create(training_yaml("wide", 8, 2));
    EXPECT_EQ(made.status, 201) << made.body;
    std::string plain = training_yaml("plain", 8, 2) + "placement: {topology: {preferred: none}}\n";
    net::HttpResponse without = co_await daemon.create(std::move(plain));
    EXPECT_EQ(without.status, 201) << without.body;
    const std::function<bool(const ClusterState&)> are_stored = [](const ClusterState& state) {
        return state.jobs.find_job({"default", "wide"}).exists() &&
               state.jobs.find_job({"default", "plain"}).exists();
    };
    const bool stored = co_await daemon.until(are_stored);
    EXPECT_TRUE(stored);
    const ClusterState& state = daemon.app->engine().state();
    const auto preferred = [&state](const char* name) {
        return state.job(state.jobs.find_job({"default", name})).record->spec.topology.preferred;
    };
    EXPECT_EQ(preferred("wide"), TopologyLevel::rack);
    EXPECT_EQ(preferred("plain"), TopologyLevel::none);
}

TEST(JobObjects, ranks_of_a_submitted_job_prefer_one_rack) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(create_wide_job);
}

}  // namespace
}  // namespace gpuctl
