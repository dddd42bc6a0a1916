// The REST API of a whole daemon on the embedded cluster.

#include <gtest/gtest.h>

#include "daemon/api/jobs/shapes.hpp"
#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

aio::Task<void> run_one_job(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(training_yaml("llm", 8, 2));
    EXPECT_EQ(created.status, 201) << created.body;
    const nlohmann::json job = parsed(created);
    EXPECT_EQ(job["jobId"], "llm");
    EXPECT_EQ(job["namespace"], "default");
    EXPECT_EQ(job["kind"], "training");
    EXPECT_EQ(job["status"], "Pending");
    EXPECT_EQ(job["warnings"], nlohmann::json::array());
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);

    net::HttpResponse listed = co_await daemon.get("/api/v1/jobs?status=running");
    const nlohmann::json rows = parsed(listed);
    EXPECT_EQ(rows["total"], 2) << rows.dump();
    for (const auto& row : rows["items"]) {
        EXPECT_EQ(row["name"], "llm");
        EXPECT_EQ(row["ready"], "1/1");
        EXPECT_EQ(row["node"].get<std::string>().substr(0, 6), "train-");
        EXPECT_EQ(row["gpu"], 8);
        EXPECT_EQ(row["pool"], "training");
    }
    EXPECT_NE(rows["items"][0]["node"], rows["items"][1]["node"]);
    net::HttpResponse jobs = co_await daemon.get("/api/v1/jobs?view=job");
    EXPECT_EQ(parsed(jobs)["total"], 1);
    EXPECT_EQ(parsed(jobs)["items"][0]["ready"], "2/2");
    EXPECT_EQ(parsed(jobs)["items"][0]["gpuTotal"], 16) << "of all ranks";

    const std::string pod = rows["items"][1]["jobId"];
    net::HttpResponse by_pod = co_await daemon.get("/api/v1/jobs/" + pod);
    const nlohmann::json detail = parsed(by_pod);
    EXPECT_EQ(detail["jobId"], "llm");
    EXPECT_EQ(detail["yamlContent"], training_yaml("llm", 8, 2));
    EXPECT_EQ(detail["pods"].size(), 2u);
    EXPECT_EQ(detail["resources"]["gpu"], 8);
    EXPECT_TRUE(detail["waiting"].is_null());
    std::set<std::string> reasons;
    for (const auto& event : detail["events"]) reasons.insert(event["reason"]);
    EXPECT_TRUE(reasons.contains("Submitted") && reasons.contains("Placed") &&
                reasons.contains("Scheduled") && reasons.contains("Running"))
        << detail["events"].dump();

    net::HttpResponse logs = co_await daemon.get("/api/v1/jobs/llm/logs?tail=5");
    EXPECT_EQ(logs.status, 200) << logs.body;
    EXPECT_LE(parsed(logs)["logs"].size(), 5u);
    net::HttpResponse all = co_await daemon.get("/api/v1/jobs/llm/logs?all=true&tail=5");
    EXPECT_EQ(all.status, 200) << all.body;
    net::HttpResponse follow = co_await daemon.get("/api/v1/jobs/llm/logs?follow=true");
    EXPECT_EQ(follow.status, 400);
    EXPECT_EQ(error_code(follow), "UseWebSocket");

    net::HttpResponse deleted = co_await daemon.call("DELETE", "/api/v1/jobs/llm", "", "");
    EXPECT_EQ(deleted.status, 200) << deleted.body;
    EXPECT_EQ(parsed(deleted)["status"], "terminating");
    const bool gone = co_await daemon.until(
        [](const ClusterState& state) { return !find_job(state, "", "llm"); });
    EXPECT_TRUE(gone);
    net::HttpResponse after = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_EQ(after.status, 404);
    EXPECT_EQ(error_code(after), "JobNotFound");
}

TEST(Api, a_gang_runs_from_create_to_delete) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(run_one_job);
}

// Of the job "second", which waits for the GPUs of the job "first".
aio::Task<void> expect_remedies(Daemon& daemon) {
    net::HttpResponse helps = co_await daemon.get("/api/v1/jobs/second/remedies");
    std::map<std::string, std::string> remedies;
    const nlohmann::json named = parsed(helps)["remedies"];
    for (const auto& one : named) {
        remedies[one["change"].get<std::string>()] = one["subject"].get<std::string>();
    }
    EXPECT_EQ(remedies["job_ends"], "default/first") << helps.body;
    EXPECT_EQ(remedies["more_nodes"], "train-0") << helps.body;
    EXPECT_FALSE(parsed(helps)["remediesTried"].empty()) << helps.body;
    EXPECT_TRUE(named[0]["stops"].empty()) << helps.body;
    net::HttpResponse of_running = co_await daemon.get("/api/v1/jobs/first/remedies");
    EXPECT_TRUE(parsed(of_running)["remedies"].empty()) << of_running.body;
}

aio::Task<void> explain_waiting(Daemon& daemon) {
    net::HttpResponse first = co_await daemon.create(training_yaml("first", 8, 2));
    EXPECT_EQ(first.status, 201) << first.body;
    const bool runs = co_await daemon.until_status("first", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse second = co_await daemon.create(training_yaml("second", 4));
    EXPECT_EQ(second.status, 201);
    const bool waits = co_await daemon.until([](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "", "second");
        return job && job->waiting && !job->pods.empty();
    });
    EXPECT_TRUE(waits);
    net::HttpResponse explained = co_await daemon.get("/api/v1/jobs/second/explain");
    const nlohmann::json body = parsed(explained);
    EXPECT_EQ(body["status"], "Pending");
    EXPECT_EQ(body["position"], 1);
    EXPECT_EQ(body["estimatedStart"].size(), 5u) << body.dump();
    EXPECT_EQ(body["estimatedStart"]["mayBeOvertaken"], true) << "no capacity is reserved for it";
    EXPECT_TRUE(body["estimatedStart"]["reservedFrom"].is_string()) << "but some is to be";
    EXPECT_FALSE(body["blockers"].empty());
    EXPECT_EQ(body["blockers"][0]["reason"], "gpu_insufficient") << body.dump();
    EXPECT_FALSE(body["blockers"][0]["sentence"].get<std::string>().empty());
    EXPECT_EQ(body["blockers"][0]["figures"]["gpus_needed"], 4) << "GPUs, not thousandths";
    EXPECT_EQ(body["blockers"][0]["figures"]["gpus_total"], 16);
    net::HttpResponse running = co_await daemon.get("/api/v1/jobs/first/explain");
    EXPECT_TRUE(parsed(running)["blockers"].empty());
    EXPECT_EQ(parsed(running)["summary"].get<std::string>().substr(0, 26),
              "it has been running since ")
        << running.body;

    co_await expect_remedies(daemon);

    net::HttpResponse logs = co_await daemon.get("/api/v1/jobs/second/logs");
    EXPECT_EQ(parsed(logs)["logs"].size(), 0u);
    EXPECT_EQ(parsed(logs)["message"].get<std::string>().substr(0, 8), "Pending:");

    net::HttpResponse pools = co_await daemon.get("/api/v1/pools/training");
    const nlohmann::json pool = parsed(pools);
    EXPECT_EQ(pool["order"], "FAIR_SHARE") << "of its queues";
    EXPECT_EQ(pool["gpuTotal"], 16);
    EXPECT_EQ(pool["gpuUsed"], 16);
    EXPECT_EQ(pool["gpuFree"], 0);
    EXPECT_EQ(pool["gpuType"]["A100-80G"], 16);
    EXPECT_EQ(pool["jobs"][0]["gpu"], 16);
    net::HttpResponse nodes = co_await daemon.get("/api/v1/nodes?pool=training&gpuType=a100-80g");
    EXPECT_EQ(parsed(nodes)["total"], 2);
    EXPECT_EQ(parsed(nodes)["items"][0]["gpuUsed"], 8);
    net::HttpResponse node = co_await daemon.get("/api/v1/nodes/train-0");
    EXPECT_EQ(parsed(node)["runningJobs"][0]["job"], "first");
    net::HttpResponse queues = co_await daemon.get("/api/v1/queues?pool=training");
    EXPECT_EQ(parsed(queues)["items"][0]["held"], 16);
    EXPECT_EQ(parsed(queues)["items"][0]["jobsWaiting"], 1);

    net::HttpResponse metrics = co_await daemon.get("/metrics");
    for (const char* line :
         {"gpuctld_pool_gpus{pool=\"training\",state=\"used\"} 16",
          "gpuctld_pending_jobs{reason=\"gpu_insufficient\"} 1", "gpuctld_ready 1",
          "gpuctld_bind_duration_seconds_count{result=\"bound\"} 2",
          "gpuctld_jobs_submitted_total{kind=\"training\",result=\"accepted\"} 2",
          "compute_pool_usage{resource_type=\"gpu\",tenant_id=\"default\"} 16"}) {
        EXPECT_NE(metrics.body.find(line), std::string::npos) << line << "\n" << metrics.body;
    }
}

aio::Task<void> ask_what_if(Daemon& daemon) {
    const auto post_job = [&daemon](std::string yaml) {
        return daemon.call("POST", "/api/v1/what-if", std::move(yaml), "application/yaml");
    };
    net::HttpResponse fits = co_await post_job(training_yaml("llm", 8, 2));
    EXPECT_EQ(fits.status, 200) << fits.body;
    const nlohmann::json yes = parsed(fits);
    EXPECT_EQ(yes["starts"], true) << fits.body;
    EXPECT_EQ(yes["placements"].size(), 2u);
    EXPECT_TRUE(yes["remedies"].empty());
    net::HttpResponse missing = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_EQ(missing.status, 404) << "nothing was submitted";

    net::HttpResponse made = co_await daemon.create(training_yaml("first", 8, 1));
    EXPECT_EQ(made.status, 201);
    const bool runs = co_await daemon.until_status("first", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse waits = co_await post_job(training_yaml("llm", 8, 2));
    const nlohmann::json no = parsed(waits);
    EXPECT_EQ(no["starts"], false) << waits.body;
    EXPECT_EQ(no["position"], 1);
    EXPECT_FALSE(no["blockers"].empty());
    EXPECT_EQ(no["remedies"][0]["change"], "fewer_gpus") << waits.body;
    EXPECT_EQ(no["remedies"][0]["amount"], 4);
    EXPECT_EQ(no["remedies"][1]["change"], "fewer_ranks") << waits.body;

    net::HttpResponse never = co_await post_job(training_yaml("llm", 9, 1));
    EXPECT_EQ(error_code(never), "NeverFits");
    net::HttpResponse taken = co_await post_job(training_yaml("first", 8, 1));
    EXPECT_EQ(error_code(taken), "JobExists");
    net::HttpResponse broken = co_await post_job("kind: [");
    EXPECT_EQ(error_code(broken), "InvalidYaml");
}

aio::Task<void> ask_preview(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.create(training_yaml("first", 8, 1));
    EXPECT_EQ(made.status, 201);
    const bool runs = co_await daemon.until_status("first", "Running");
    EXPECT_TRUE(runs);
    const auto post_preview = [&daemon](std::string target, std::string yaml) {
        return daemon.call("POST", std::move(target), std::move(yaml), "application/yaml");
    };
    // A namespace with a limit of 0: the job would not have started.
    net::HttpResponse answer = co_await post_preview(
        "/api/v1/preview?hours=1", "policy: {tenants: [{name: default, gpuMaximum: 4}]}\n");
    EXPECT_EQ(answer.status, 200) << answer.body;
    const nlohmann::json body = parsed(answer);
    EXPECT_EQ(body["all"]["jobs"], 1) << answer.body;
    EXPECT_EQ(body["all"]["before"]["jobsNotStarted"], 0);
    EXPECT_EQ(body["all"]["after"]["jobsNotStarted"], 1);
    EXPECT_EQ(body["lose"][0]["jobId"], "first");
    EXPECT_EQ(body["queuesRemoved"], nlohmann::json::array()) << answer.body;
    EXPECT_EQ(body["actualJobsNotStarted"], 0);
    EXPECT_EQ(body["isDefaultPolicy"], false);
    for (const char* without : {"", "policy: {}\n", "server: {port: 1}\n"}) {
        net::HttpResponse defaults = co_await post_preview("/api/v1/preview", without);
        EXPECT_EQ(defaults.status, 200) << defaults.body;
        EXPECT_EQ(parsed(defaults)["isDefaultPolicy"], true) << without;
    }
    for (const char* with :
         {"policy: {name: fair}\n", "policy: {tenants: [{name: a, gpuMaximum: 4}]}\n",
          "expert: {scheduling: {growthPause: 2m}}\n"}) {
        net::HttpResponse own = co_await post_preview("/api/v1/preview", with);
        EXPECT_EQ(own.status, 200) << own.body;
        EXPECT_EQ(parsed(own)["isDefaultPolicy"], false) << with;
    }
    net::HttpResponse wrong = co_await post_preview("/api/v1/preview", "policy: {pols: 1}\n");
    EXPECT_EQ(error_code(wrong), "InvalidConfiguration");
    net::HttpResponse hours = co_await post_preview("/api/v1/preview?hours=x", "");
    EXPECT_EQ(error_code(hours), "BadRequest");
}

TEST(Api, another_configuration_is_simulated_on_the_past) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_preview);
}

aio::Task<void> send_wrong_configurations(Daemon& daemon) {
    for (const char* wrong : {"[]", R"({"config": 5})", R"({"hours": "x"})", "no configuration",
                              "policy: [", "policy: {pools: [~]}", "policy: {maintenance: [~]}"}) {
        net::HttpResponse answer =
            co_await daemon.call("POST", "/api/v1/preview", wrong, "application/yaml");
        EXPECT_EQ(answer.status, 400) << wrong << "\n" << answer.body;
        EXPECT_EQ(error_code(answer), "InvalidConfiguration") << wrong;
        EXPECT_EQ(parsed(answer)["status"], 400) << wrong;
        const std::string sentence = parsed(answer)["message"];
        EXPECT_TRUE(sentence.starts_with("the configuration in the request:1:")) << sentence;
    }
}

TEST(Api, a_wrong_configuration_is_an_error_of_the_client) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(send_wrong_configurations);
}

aio::Task<void> ask_for_more_than_there_is(Daemon& daemon) {
    const auto preview_policy = [&daemon](std::string policy) {
        return daemon.call("POST", "/api/v1/preview", "policy: {" + policy + "}\n",
                           "application/yaml");
    };
    const auto guaranteed = [](const std::string& gpus) {
        return "pools: [{name: training, queues: [{name: q, guaranteed: " + gpus + "}]}]";
    };
    net::HttpResponse all = co_await preview_policy(guaranteed("16"));
    EXPECT_EQ(all.status, 200) << all.body;
    net::HttpResponse more = co_await preview_policy(guaranteed("17"));
    EXPECT_EQ(more.status, 400) << more.body;
    EXPECT_NE(more.body.find("pool training has 16 GPUs; its queues cannot be guaranteed 17"),
              std::string::npos)
        << more.body;
    net::HttpResponse own = co_await preview_policy(
        "tenants: [{name: t, pools: [{pool: training, gpuMaximum: 1}]}], maintenance: [{name: w, "
        "nodes: [train-1], start: 2026-12-01T08:00:00Z, duration: 1h}]");
    EXPECT_EQ(own.status, 200) << own.body;
    net::HttpResponse foreign =
        co_await preview_policy("tenants: [{name: t, pools: [{pool: dev-pool, gpuMaximum: 1}]}]");
    EXPECT_EQ(foreign.status, 400) << foreign.body;
}

TEST(Api, another_configuration_is_checked_against_the_running_cluster) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_for_more_than_there_is);
}

TEST(Api, a_job_is_tried_without_being_submitted) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_what_if);
}

TEST(Api, a_waiting_job_is_explained_with_numbers) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(explain_waiting);
}

aio::Task<void> submit_and_leave(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(training_yaml("llm", 8, 2));
    EXPECT_EQ(created.status, 201);
}

aio::Task<void> find_it_again(Daemon& daemon) {
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    const Result<JobView> job = find_job(daemon.app->engine().state(), "", "llm");
    EXPECT_EQ(job->pods.size(), 2u);
}

TEST(Api, an_acknowledged_job_survives_a_restart) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(submit_and_leave);
    Daemon{quick_config(directory.path())}.run(find_it_again);
}

aio::Task<void> reload_twice(Daemon& daemon) {
    config::Config wanted = quick_config("");
    wanted.journal.directory = testing::TempDir();
    const Result<void> refused = daemon.app->reload(wanted);
    EXPECT_FALSE(refused) << "the journal's directory cannot change while running";
    net::HttpResponse metrics = co_await daemon.get("/metrics");
    EXPECT_NE(metrics.body.find("gpuctld_config_reloads_total{result=\"refused\"} 1"),
              std::string::npos);
}

TEST(Api, a_reload_that_cannot_be_applied_completely_changes_nothing) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(reload_twice);
}

// --- following a log over a WebSocket ---

aio::Task<void> follow_log(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(training_yaml("llm", 1));
    EXPECT_EQ(created.status, 201) << created.body;
    net::HttpRequest upgrade;
    upgrade.target = "/api/v1/jobs/llm/logs/ws?tail=10";
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
    Result<std::unique_ptr<net::WebSocket>> socket =
        co_await net::connect_websocket(daemon.loop(), daemon.origin(), upgrade, {}, deadline);
    EXPECT_TRUE(socket) << (socket ? "" : socket.error().message);
    if (!socket) co_return;
    std::string position;
    for (int lines = 0; lines < 3;) {
        Result<std::optional<std::string>> text = co_await (*socket)->read_text(deadline);
        EXPECT_TRUE(text && *text);
        if (!text || !*text) co_return;
        const nlohmann::json frame = nlohmann::json::parse(**text);
        if (frame["type"] != "log") continue;
        EXPECT_EQ(frame["seq"], ++lines);
        EXPECT_FALSE(frame["time"].get<std::string>().empty());
        position = frame["position"];
    }
    co_await (*socket)->close(net::CloseCode::normal, "", deadline);

    net::HttpRequest absent;
    absent.target = "/api/v1/jobs/absent/logs/ws";
    Result<std::unique_ptr<net::WebSocket>> refused =
        co_await net::connect_websocket(daemon.loop(), daemon.origin(), absent, {}, deadline);
    EXPECT_FALSE(refused);
    net::HttpResponse plain = co_await daemon.get("/api/v1/jobs/llm/logs/ws");
    EXPECT_EQ(error_code(plain), "UseWebSocket");
    EXPECT_FALSE(position.empty());
}

TEST(Api, a_log_is_followed_over_a_websocket) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(follow_log);
}

}  // namespace
}  // namespace gpuctl
