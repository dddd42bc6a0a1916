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

aio::Task<net::HttpResponse> send_object(Daemon& daemon, std::string target, std::string yaml) {
    std::string method = "POST";
    std::string type = "application/yaml";
    net::HttpResponse response = co_await daemon.call(std::move(method), std::move(target),
                                                      std::move(yaml), std::move(type));
    co_return response;
}

aio::Task<void> create_in_namespaces(Daemon& daemon) {
    net::HttpResponse before = co_await daemon.create(training_yaml("a", 1), "?namespace=team-a");
    EXPECT_EQ(before.status, 201) << "while no namespace was made, any name is one";
    net::HttpResponse made = co_await send_object(daemon, "/api/v1/namespaces",
                                                  "kind: namespace\nnamespace: {name: team-b}\n");
    EXPECT_EQ(made.status, 201) << made.body;
    for (const char* const name : {"default", "team-a", "team-b"}) {
        std::string query = std::string{"?namespace="} + name;
        net::HttpResponse accepted = co_await daemon.create(training_yaml("b", 1), query);
        EXPECT_EQ(accepted.status, 201) << name << ": " << accepted.body;
    }
    for (const char* const more : {"", "&dryRun=true"}) {
        std::string query = std::string{"?namespace=team-z"} + more;
        net::HttpResponse refused = co_await daemon.create(training_yaml("c", 1), query);
        EXPECT_EQ(error_code(refused), "NamespaceNotFound") << refused.body;
        EXPECT_NE(refused.body.find("an administrator creates it first"), std::string::npos);
    }
    std::string put = "PUT";
    std::string target = "/api/v1/jobs/c?namespace=team-z";
    std::string type = "application/yaml";
    std::string yaml = training_yaml("c", 1);
    net::HttpResponse applied = co_await daemon.call(put, target, yaml, type);
    EXPECT_EQ(error_code(applied), "NamespaceNotFound") << applied.body;
    net::HttpResponse absent = co_await daemon.get("/api/v1/jobs/c?namespace=team-z");
    EXPECT_EQ(absent.status, 404) << "nothing was created";
}

TEST(Acceptance, C5_C6_where_namespaces_are_made_create_and_apply_refuse_a_name_without_one) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(create_in_namespaces);
}

aio::Task<void> create_what_never_fits(Daemon& daemon) {
    // The order: namespace, pool, name, quota, nodes.
    net::HttpResponse first = co_await daemon.create(training_yaml("a", 1));
    EXPECT_EQ(first.status, 201) << first.body;
    net::HttpResponse pool = co_await daemon.create(training_yaml("a", 99, 1, "moon"));
    EXPECT_EQ(error_code(pool), "PoolNotFound") << pool.body;
    net::HttpResponse name = co_await daemon.create(training_yaml("a", 99));
    EXPECT_EQ(error_code(name), "JobExists") << name.body;
    EXPECT_NE(name.body.find("gpuctl apply"), std::string::npos) << name.body;
    net::HttpResponse quota = co_await daemon.create(training_yaml("b", 99));
    EXPECT_EQ(error_code(quota), "QuotaExceeded") << quota.body;
    net::HttpResponse nodes = co_await daemon.create(training_yaml("b", 9));
    EXPECT_EQ(error_code(nodes), "NeverFits") << nodes.body;
    std::string typed = training_yaml("b", 1);
    typed.replace(typed.find("gpu: 1"), 6, "gpuType: H100, gpu: 1");
    net::HttpResponse type = co_await daemon.create(std::move(typed));
    EXPECT_EQ(error_code(type), "NeverFits") << type.body;
    EXPECT_NE(type.body.find("H100"), std::string::npos) << type.body;
    for (const char* const target : {"/api/v1/jobs/b", "/api/v1/jobs/b?dryRun=true"}) {
        std::string put = "PUT";
        std::string where = target;
        std::string yaml = training_yaml("b", 9);
        std::string media = "application/yaml";
        net::HttpResponse applied = co_await daemon.call(put, where, yaml, media);
        EXPECT_EQ(error_code(applied), "NeverFits") << applied.body;
    }
    net::HttpResponse absent = co_await daemon.get("/api/v1/jobs/b");
    EXPECT_EQ(absent.status, 404) << "nothing was created";
}

TEST(JobObjects, checks_before_a_create_have_an_order_and_apply_makes_them_all) {
    const TempDir directory;
    config::Config config = quick_config(directory.path());
    TenantPolicy tenant;
    tenant.name = "default";
    tenant.gpu_maximum = whole_gpus(16);
    config.policy.tenants = {tenant};
    Daemon{std::move(config)}.run(create_what_never_fits);
}

aio::Task<void> create_over_pods(Daemon& daemon) {
    net::HttpResponse quota =
        co_await send_object(daemon, "/api/v1/quotas",
                             "kind: quota\nquota: {name: q}\nnamespace: {team-a: {pods: 3}}\n");
    EXPECT_EQ(quota.status, 201) << quota.body;
    net::HttpResponse first = co_await daemon.create(training_yaml("a", 1, 2), "?namespace=team-a");
    EXPECT_EQ(first.status, 201) << first.body;
    net::HttpResponse second =
        co_await daemon.create(training_yaml("b", 1, 2), "?namespace=team-a");
    EXPECT_EQ(error_code(second), "QuotaExceeded") << second.body;
    EXPECT_NE(second.body.find("allows 3 pods, other jobs have 2, and the job needs 2"),
              std::string::npos)
        << second.body;
    net::HttpResponse third = co_await daemon.create(training_yaml("c", 1), "?namespace=team-a");
    EXPECT_EQ(third.status, 201) << third.body;
    net::HttpResponse shown = co_await daemon.get("/api/v1/quotas/team-a");
    EXPECT_EQ(parsed(shown)["hard"]["pods"], "3") << shown.body;
    EXPECT_EQ(parsed(shown)["used"]["pods"], "3") << shown.body;
}

TEST(JobObjects, a_quota_of_pods_refuses_jobs_beyond_it) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(create_over_pods);
}

aio::Task<void> migrate_nothing(Daemon& daemon) {
    net::HttpResponse done =
        co_await send_object(daemon, "/api/v1/labels/migrate?dryRun=true&removeOld", std::string{});
    EXPECT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(parsed(done)["total"], 0) << done.body;
    EXPECT_EQ(parsed(done)["more"], false) << done.body;
}

TEST(JobObjects, the_embedded_cluster_has_no_objects_of_earlier_products) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(migrate_nothing);
}

}  // namespace
}  // namespace gpuctl
