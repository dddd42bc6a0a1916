// Events, access, and options of logs in the REST API of a whole daemon.

#include <gtest/gtest.h>

#include <set>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

const std::string kWeb =
    "kind: inference\nversion: v0.1\njob: {name: web}\nenvironment: {image: repo/image:1}\n"
    "service: {replicas: 1, port: 8000}\n"
    "resources: {pool: training, gpu: 1, cpu: 1, memory: 1Gi}\n";

std::set<std::string> reasons_in(const nlohmann::json& events) {
    std::set<std::string> reasons;
    for (const auto& event : events) reasons.insert(event["reason"]);
    return reasons;
}

aio::Task<void> read_events(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(kWeb);
    EXPECT_EQ(created.status, 201) << created.body;
    net::HttpResponse other = co_await daemon.create(training_yaml("llm", 1));
    EXPECT_EQ(other.status, 201) << other.body;
    const bool runs = co_await daemon.until_status("web", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse all = co_await daemon.get("/api/v1/events");
    const nlohmann::json list = parsed(all);
    EXPECT_GE(list["total"], 4) << all.body;
    EXPECT_EQ(list["items"][0]["namespace"], "default");
    EXPECT_TRUE(list["items"][0].contains("job"));
    net::HttpResponse of_one = co_await daemon.get("/api/v1/events?job=web");
    const std::set<std::string> reasons = reasons_in(parsed(of_one)["items"]);
    EXPECT_TRUE(reasons.contains("Submitted") && reasons.contains("Placed")) << of_one.body;
    net::HttpResponse nothing = co_await daemon.get("/api/v1/events?namespace=elsewhere");
    EXPECT_EQ(parsed(nothing)["total"], 0);
    net::HttpResponse unknown = co_await daemon.get("/api/v1/events?job=absent");
    EXPECT_EQ(error_code(unknown), "JobNotFound");
}

TEST(EventsApi, lists_the_events_of_all_jobs_and_of_one) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_events);
}

aio::Task<void> find_events_again(Daemon& daemon) {
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
    std::set<std::string> reasons;
    while (!reasons.contains("Submitted") && !deadline.passed()) {
        net::HttpResponse detail = co_await daemon.get("/api/v1/jobs/web");
        reasons = reasons_in(parsed(detail)["events"]);
    }
    EXPECT_TRUE(reasons.contains("Submitted") && reasons.contains("Placed") &&
                reasons.contains("Scheduled"));
}

TEST(EventsApi, events_of_a_job_survive_a_restart) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_events);
    Daemon{quick_config(directory.path())}.run(find_events_again);
}

aio::Task<void> read_access(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(kWeb);
    EXPECT_EQ(created.status, 201) << created.body;
    const bool runs = co_await daemon.until_status("web", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse detail = co_await daemon.get("/api/v1/jobs/web");
    const nlohmann::json access = parsed(detail)["accessMethods"];
    EXPECT_EQ(access["podIpAccess"]["port"], 8000) << detail.body;
    EXPECT_EQ(access["serviceAccess"]["url"], "http://svc-web.default.svc.cluster.local:8000");
    EXPECT_TRUE(access["nodePortAccess"]["nodePort"].is_null()) << "virtual nodes have no ports";
    EXPECT_EQ(parsed(detail)["gpus"].size(), 1U);
    EXPECT_EQ(parsed(detail)["gpus"][0]["gpu"], 1);
    net::HttpResponse again = co_await daemon.create(kWeb);
    EXPECT_EQ(error_code(again), "JobExists");
    const std::string message = parsed(again)["message"];
    EXPECT_NE(message.find("already exists"), std::string::npos) << message;
    EXPECT_NE(message.find("apply"), std::string::npos) << message;
}

TEST(Acceptance, C9_and_F5_a_duplicate_names_apply_and_a_service_has_access_methods) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_access);
}

aio::Task<void> read_logs(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(training_yaml("llm", 1));
    EXPECT_EQ(created.status, 201) << created.body;
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse stamped = co_await daemon.get("/api/v1/jobs/llm/logs?timestamps");
    EXPECT_EQ(stamped.status, 200) << stamped.body;
    const nlohmann::json lines = parsed(stamped)["logs"];
    for (const auto& line : lines) {
        EXPECT_EQ(line.get<std::string>().substr(0, 2), "20") << line;
    }
    net::HttpResponse recent = co_await daemon.get("/api/v1/jobs/llm/logs?sinceSeconds=3600");
    EXPECT_EQ(recent.status, 200) << recent.body;
    net::HttpResponse previous = co_await daemon.get("/api/v1/jobs/llm/logs?previous=true");
    EXPECT_EQ(previous.status, 404) << previous.body;
    EXPECT_NE(parsed(previous)["message"].get<std::string>().find("has not started again"),
              std::string::npos);
    for (const char* wrong : {"sinceSeconds=0", "sinceSeconds=x", "previous=maybe"}) {
        const std::string target = std::string{"/api/v1/jobs/llm/logs?"} + wrong;
        net::HttpResponse refused = co_await daemon.get(target);
        EXPECT_EQ(refused.status, 400) << wrong;
    }
}

TEST(LogsApi, lines_have_times_and_a_beginning_and_there_is_no_previous_container) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_logs);
}

aio::Task<void> read_nodes_and_caller(Daemon& daemon) {
    net::HttpResponse caller = co_await daemon.get("/api/v1/whoami");
    EXPECT_EQ(parsed(caller)["role"], "admin") << "without a token file";
    net::HttpResponse all = co_await daemon.get("/api/v1/nodes?selector=no-such-label");
    EXPECT_EQ(parsed(all)["total"], 0) << all.body;
    net::HttpResponse without = co_await daemon.get("/api/v1/nodes?selector=%21no-such-label");
    EXPECT_EQ(parsed(without)["total"], 3) << without.body;
    net::HttpResponse wrong = co_await daemon.get("/api/v1/nodes?selector=a%3Db%2C");
    EXPECT_EQ(error_code(wrong), "BadRequest");
    net::HttpResponse every = co_await daemon.get("/api/v1/jobs?allSchedulers=true");
    EXPECT_EQ(every.status, 200) << every.body;
}

TEST(NodesApi, are_selected_by_label_and_a_client_learns_its_role) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_nodes_and_caller);
}

}  // namespace
}  // namespace gpuctl
