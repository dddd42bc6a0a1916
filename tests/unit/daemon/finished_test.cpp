// Finished jobs in the API of a whole daemon on the embedded cluster (ADR 0030).

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

config::Config short_memory(const std::string& directory, std::int32_t detailed,
                            std::int32_t maximum) {
    config::Config config = quick_config(directory);
    config.cluster.embedded.training_run_time = std::chrono::seconds{1};
    config.policy.finished_jobs_detailed = detailed;
    config.policy.finished_jobs_maximum = maximum;
    return config;
}

// Jobs of one letter each, one after the other, so that they end in this order.
aio::Task<void> finish_jobs(Daemon& daemon, std::string names) {
    for (const char letter : names) {
        const std::string name{letter};
        net::HttpResponse created = co_await daemon.create(training_yaml(name, 1));
        EXPECT_EQ(created.status, 201) << created.body;
        const bool ended = co_await daemon.until_status(name, "Succeeded");
        EXPECT_TRUE(ended) << name;
    }
}

// "a summary, b": of the rows of a page.
std::string listed(const nlohmann::json& page) {
    std::string rows;
    for (const auto& row : page["items"]) {
        rows += (rows.empty() ? "" : ", ") + row["name"].get<std::string>() +
                (row["summary"] == true ? " summary" : "");
    }
    return rows;
}

// Not in the coroutine: g++ 12 does not take a list there.
void expect_times(const nlohmann::json& job) {
    for (const char* time : {"createdAt", "startedAt", "finishedAt", "uid"}) {
        EXPECT_NE(job[time], "") << time;
    }
}

aio::Task<void> show_summaries(Daemon& daemon) {
    co_await finish_jobs(daemon, "abcd");
    net::HttpResponse page = co_await daemon.get("/api/v1/jobs?view=job");
    EXPECT_EQ(listed(parsed(page)), "b summary, c summary, d");
    const nlohmann::json removed = parsed(page)["finishedRemoved"];
    EXPECT_EQ(removed["count"], 1);
    EXPECT_EQ(removed["maximum"], 3);
    EXPECT_EQ(removed["retention"], "1d");
    EXPECT_NE(removed["lastAt"], "");
    net::HttpResponse elsewhere = co_await daemon.get("/api/v1/jobs?namespace=unused");
    EXPECT_EQ(parsed(elsewhere)["finishedRemoved"]["count"], 0);

    net::HttpResponse detail = co_await daemon.get("/api/v1/jobs/b");
    const nlohmann::json job = parsed(detail);
    EXPECT_EQ(job["status"], "Succeeded");
    EXPECT_EQ(job["kind"], "training");
    EXPECT_EQ(job["pool"], "training");
    EXPECT_EQ(job["priority"], "medium");
    EXPECT_EQ(job["gpuTotal"], 1);
    EXPECT_EQ(job["ready"], "0/1");
    EXPECT_TRUE(job["node"].get<std::string>().starts_with("train-")) << job["node"];
    expect_times(job);
    EXPECT_EQ(job["pods"].size(), 0U);
    EXPECT_EQ(job["notStored"],
              "its pods, YAML, events and logs are not stored any more: only the newest 1 finished "
              "jobs are stored with them (policy.finishedJobsDetailed)");
    net::HttpResponse whole = co_await daemon.get("/api/v1/jobs/d");
    EXPECT_EQ(parsed(whole)["notStored"], "");
    EXPECT_EQ(parsed(whole)["pods"].size(), 1U);

    net::HttpResponse log = co_await daemon.get("/api/v1/jobs/b/logs");
    EXPECT_EQ(log.status, 404);
    EXPECT_NE(parsed(log)["message"].get<std::string>().find(
                  "its pods and logs are not stored any more: only the newest 1 finished jobs"),
              std::string::npos)
        << log.body;
    net::HttpResponse readable = co_await daemon.get("/api/v1/jobs/d/logs");
    EXPECT_EQ(readable.status, 200) << readable.body;
    net::HttpResponse why = co_await daemon.get("/api/v1/jobs/b/explain");
    EXPECT_EQ(parsed(why)["summary"].get<std::string>().substr(0, 11), "it finished") << why.body;
    EXPECT_EQ(daemon.app->engine().history().of({"default", "b"}).size(), 0U);
}

TEST(Finished, older_jobs_are_listed_as_summaries_and_removed_ones_are_counted) {
    TempDir directory;
    Daemon{short_memory(directory.path(), 1, 3)}.run(show_summaries);
}

aio::Task<void> take_names(Daemon& daemon) {
    co_await finish_jobs(daemon, "ab");
    net::HttpResponse taken = co_await daemon.create(training_yaml("a", 1));
    EXPECT_EQ(taken.status, 409);
    EXPECT_EQ(error_code(taken), "JobExists");
    net::HttpResponse tried = co_await daemon.create(training_yaml("a", 1), "?dryRun=true");
    EXPECT_EQ(tried.status, 409);
    net::HttpResponse removed = co_await daemon.call("DELETE", "/api/v1/jobs/a", "", "");
    EXPECT_EQ(removed.status, 200) << removed.body;
    std::function<bool(const ClusterState&)> is_gone = [](const ClusterState& state) {
        return !find_job(state, "", "a");
    };
    const bool gone = co_await daemon.until(std::move(is_gone));
    EXPECT_TRUE(gone);
    co_await finish_jobs(daemon, "ac");  // so that b goes
    net::HttpResponse lost = co_await daemon.get("/api/v1/jobs/b");
    EXPECT_EQ(lost.status, 404);
    net::HttpResponse again = co_await daemon.create(training_yaml("b", 1));
    EXPECT_EQ(again.status, 201) << again.body;
}

TEST(Finished, a_name_is_free_once_its_job_was_deleted_or_removed) {
    TempDir directory;
    Daemon{short_memory(directory.path(), 0, 2)}.run(take_names);
}

aio::Task<void> leave_two(Daemon& daemon) {
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/api/v1/jobs";
    request.body = training_yaml("a", 1);
    request.fields.set("Content-Type", "application/yaml");
    request.fields.set("Idempotency-Key", "once");
    net::HttpResponse created = co_await daemon.send(std::move(request));
    EXPECT_EQ(created.status, 201) << created.body;
    const bool ended = co_await daemon.until_status("a", "Succeeded");
    EXPECT_TRUE(ended);
    co_await finish_jobs(daemon, "b");
}

aio::Task<void> find_two(Daemon& daemon) {
    net::HttpResponse page = co_await daemon.get("/api/v1/jobs?view=job");
    EXPECT_EQ(listed(parsed(page)), "a summary, b");
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/api/v1/jobs";
    request.body = training_yaml("a", 1);
    request.fields.set("Content-Type", "application/yaml");
    request.fields.set("Idempotency-Key", "once");
    net::HttpResponse repeated = co_await daemon.send(std::move(request));
    EXPECT_EQ(repeated.status, 201) << repeated.body;
    EXPECT_EQ(repeated.fields.get("Idempotency-Replayed"), "true");
    const nlohmann::json body = parsed(repeated);
    EXPECT_EQ(body["name"], "a");
    EXPECT_EQ(body["resources"]["gpu"], 1);
    EXPECT_EQ(body["resources"]["pool"], "training");
    EXPECT_EQ(daemon.app->engine().state().jobs.jobs_by_key().size(), 1U)
        << "no second job was made";
    net::HttpResponse log = co_await daemon.get("/api/v1/jobs/b/logs");
    EXPECT_EQ(log.status, 200) << log.body;
}

TEST(Finished, summaries_and_their_idempotency_keys_survive_a_restart) {
    TempDir directory;
    Daemon{short_memory(directory.path(), 1, 10)}.run(leave_two);
    Daemon{short_memory(directory.path(), 1, 10)}.run(find_two);
}

}  // namespace
}  // namespace gpuctl
