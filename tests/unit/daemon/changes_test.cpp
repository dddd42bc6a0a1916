// Changes of jobs over REST, of a whole daemon on the embedded cluster.

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

std::string service_yaml(const std::string& name, int replicas, const std::string& image = "a:1",
                         const std::string& more = "") {
    return "kind: inference\nversion: v0.1\njob: {name: " + name + "}\nenvironment: {image: \"" +
           image + "\"}\nservice: {replicas: " + std::to_string(replicas) +
           ", port: 8000}\nresources: {pool: training, gpu: 1, cpu: 1, memory: 1Gi}\n" + more;
}

aio::Task<nlohmann::json> put(Daemon& daemon, std::string name, std::string yaml, int status,
                              std::string query = "") {
    net::HttpResponse answer = co_await daemon.call("PUT", "/api/v1/jobs/" + name + query,
                                                    std::move(yaml), "application/yaml");
    EXPECT_EQ(answer.status, status) << answer.body;
    co_return parsed(answer);
}

aio::Task<nlohmann::json> post(Daemon& daemon, std::string verb, std::string path, std::string body,
                               int status) {
    net::HttpResponse answer = co_await daemon.call(std::move(verb), "/api/v1/jobs/" + path,
                                                    std::move(body), "application/json");
    EXPECT_EQ(answer.status, status) << answer.body;
    co_return parsed(answer);
}

aio::Task<void> apply_twice(Daemon& daemon) {
    nlohmann::json made = co_await put(daemon, "chat", service_yaml("chat", 1), 201);
    EXPECT_EQ(made["action"], "create");
    bool runs = co_await daemon.until_status("chat", "Running");
    EXPECT_TRUE(runs);
    nlohmann::json same = co_await put(daemon, "chat", service_yaml("chat", 1), 200);
    EXPECT_EQ(same["action"], "unchanged");
    EXPECT_EQ(same["changes"], nlohmann::json::array());
    nlohmann::json tried =
        co_await put(daemon, "chat", service_yaml("chat", 2), 200, "?dryRun=true");
    EXPECT_EQ(tried["action"], "update");
    EXPECT_EQ(tried["dryRun"], true);
    nlohmann::json more = co_await put(daemon, "chat", service_yaml("chat", 2), 200);
    EXPECT_EQ(more["action"], "update");
    EXPECT_EQ(more["changes"][0]["field"], "service.replicas");
    EXPECT_EQ(more["changes"][0]["to"], 2);
    const bool has_two = co_await daemon.until([](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "", "chat");
        return job && job->pods_running == 2 && job->pods_wanted == 2;
    });
    EXPECT_TRUE(has_two);
    nlohmann::json image = co_await put(daemon, "chat", service_yaml("chat", 2, "a:2"), 200);
    EXPECT_EQ(image["action"], "update");
    net::HttpResponse shown = co_await daemon.get("/api/v1/jobs/chat");
    EXPECT_EQ(parsed(shown)["resourceVersion"], "3");
    EXPECT_EQ(parsed(shown)["yamlContent"], service_yaml("chat", 2, "a:2"));
}

TEST(Acceptance, D1_D2_apply_creates_then_updates_and_leaves_alone_what_is_the_same) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(apply_twice);
}

aio::Task<void> apply_fixed_fields(Daemon& daemon) {
    (void)co_await put(daemon, "llm", training_yaml("llm", 2), 201);
    bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse before = co_await daemon.get("/api/v1/jobs/llm");
    nlohmann::json fixed = co_await put(daemon, "llm", training_yaml("llm", 4), 409);
    EXPECT_EQ(fixed["error"], "ImmutableField");
    EXPECT_NE(fixed["message"].get<std::string>().find("resources.gpu"), std::string::npos);
    EXPECT_NE(fixed["message"].get<std::string>().find("--recreate"), std::string::npos);
    EXPECT_EQ(fixed["errors"][0]["pointer"], "/resources/gpu");
    // What is wrong or never fits changes nothing, with --recreate either.
    (void)co_await put(daemon, "llm", training_yaml("llm", 99), 409, "?recreate=true");
    (void)co_await put(daemon, "llm", "kind: training\njob: {name: llm}\n", 400, "?recreate=true");
    net::HttpResponse after = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_EQ(parsed(after)["uid"], parsed(before)["uid"]);
    EXPECT_EQ(parsed(after)["pods"][0]["uid"], parsed(before)["pods"][0]["uid"]);
    nlohmann::json again =
        co_await put(daemon, "llm", training_yaml("llm", 4), 200, "?recreate=true");
    EXPECT_EQ(again["action"], "recreate");
    const std::string old_pod = parsed(before)["pods"][0]["uid"];
    // Named: a capturing lambda inside a co_await expression is freed twice (g++ 12).
    std::function<bool(const ClusterState&)> runs_again = [old_pod](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "", "llm");
        return job && job->pods.size() == 1 && job->pods[0].facts.uid != old_pod &&
               job->pods_running == 1;
    };
    const bool is_new = co_await daemon.until(std::move(runs_again));
    EXPECT_TRUE(is_new);
    net::HttpResponse last = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_NE(parsed(last)["uid"], parsed(before)["uid"]);
    EXPECT_EQ(parsed(last)["resources"]["gpu"], 4);
}

TEST(Acceptance, D6_an_invalid_new_spec_leaves_the_job_alone_and_recreate_replaces_it) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(apply_fixed_fields);
}

aio::Task<void> apply_in_namespaces(Daemon& daemon) {
    nlohmann::json by_query =
        co_await put(daemon, "chat", service_yaml("chat", 1), 201, "?namespace=team-a");
    EXPECT_EQ(by_query["namespace"], "team-a");
    const std::string yaml =
        "kind: inference\njob: {name: chat, namespace: team-b}\nenvironment: {image: \"a:1\"}\n"
        "service: {replicas: 1, port: 8000}\nresources: {pool: training, gpu: 1, cpu: 1, memory: "
        "1Gi}\n";
    nlohmann::json by_text = co_await put(daemon, "chat", yaml, 201);
    EXPECT_EQ(by_text["namespace"], "team-b");
    const bool runs = co_await daemon.until([](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "team-b", "chat");
        return job && job->status == "Running";
    });
    EXPECT_TRUE(runs);
    nlohmann::json same = co_await put(daemon, "chat", yaml, 200);
    EXPECT_EQ(same["action"], "unchanged") << "no second one in the default namespace";
}

TEST(Acceptance, D3_apply_honours_the_namespace_of_the_request_and_of_the_document) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(apply_in_namespaces);
}

aio::Task<void> create_what_exists(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.create(training_yaml("llm", 1));
    EXPECT_EQ(made.status, 201);
    net::HttpResponse again = co_await daemon.create(training_yaml("llm", 1));
    EXPECT_EQ(again.status, 409);
    const std::string message = parsed(again)["message"];
    EXPECT_NE(message.find("already exists"), std::string::npos) << message;
    EXPECT_NE(message.find("apply"), std::string::npos) << message;
    net::HttpResponse other = co_await daemon.create(service_yaml("llm", 1));
    EXPECT_EQ(other.status, 409) << "names are unique across kinds";
    EXPECT_EQ(error_code(other), "JobExists");
}

TEST(Acceptance, C9_C10_a_name_in_use_is_refused_and_apply_is_named) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(create_what_exists);
}

aio::Task<void> pause_and_resume(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.create(training_yaml("llm", 8, 2));
    EXPECT_EQ(made.status, 201) << made.body;
    bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    nlohmann::json paused = co_await post(daemon, "POST", "llm/pause", "", 200);
    EXPECT_EQ(paused["status"], "paused");
    EXPECT_EQ(paused["message"],
              "job default/llm is paused; it keeps 16 GPUs until it is resumed (pause it with "
              "--release to free them)");
    const bool has_stopped = co_await daemon.until([](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "", "llm");
        return job && job->pods.empty() && job->seats == 2;
    });
    EXPECT_TRUE(has_stopped);
    nlohmann::json again = co_await post(daemon, "POST", "llm/pause", "{}", 200);
    EXPECT_EQ(again["action"], "unchanged");
    net::HttpResponse shown = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_EQ(parsed(shown)["pause"]["gpus"], 16);
    EXPECT_EQ(parsed(shown)["status"], "Suspended");
    net::HttpResponse explained = co_await daemon.get("/api/v1/jobs/llm/explain");
    EXPECT_NE(parsed(explained)["summary"].get<std::string>().find("keeps 16 GPUs"),
              std::string::npos)
        << explained.body;
    net::HttpResponse waiting = co_await daemon.create(training_yaml("other", 1));
    EXPECT_EQ(waiting.status, 201);
    const bool waits = co_await daemon.until([](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "", "other");
        return job && job->waiting && !job->pods.empty();
    });
    EXPECT_TRUE(waits);
    nlohmann::json resumed = co_await post(daemon, "POST", "llm/resume", "", 200);
    EXPECT_EQ(resumed["message"], "job default/llm is resumed on the 16 GPUs that it kept");
    runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    // Released, its GPUs are for other jobs.
    nlohmann::json released =
        co_await post(daemon, "POST", "llm/pause", R"({"release":true})", 200);
    EXPECT_EQ(released["status"], "paused");
    runs = co_await daemon.until_status("other", "Running");
    EXPECT_TRUE(runs);
    nlohmann::json deleted = co_await post(daemon, "DELETE", "llm", "", 200);
    EXPECT_EQ(deleted["status"], "terminating");
}

TEST(Changes, a_paused_job_keeps_its_gpus_until_it_is_resumed_or_releases_them) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(pause_and_resume);
}

aio::Task<void> update_fields(Daemon& daemon) {
    (void)co_await put(daemon, "chat", service_yaml("chat", 1), 201);
    bool runs = co_await daemon.until_status("chat", "Running");
    EXPECT_TRUE(runs);
    nlohmann::json scaled = co_await post(daemon, "PATCH", "chat/scale", R"({"replicas":3})", 200);
    EXPECT_EQ(scaled["action"], "update");
    nlohmann::json stale =
        co_await post(daemon, "PATCH", "chat", R"({"image":"b:1","resourceVersion":"1"})", 409);
    EXPECT_EQ(stale["error"], "Conflict");
    nlohmann::json updated =
        co_await post(daemon, "PATCH", "chat", R"({"image":"b:1","resourceVersion":"2"})", 200);
    EXPECT_EQ(updated["changes"][0]["field"], "environment.image");
    nlohmann::json wrong = co_await post(daemon, "PATCH", "chat", R"({"gpu":8})", 400);
    EXPECT_EQ(wrong["error"], "BadRequest");
    nlohmann::json negative =
        co_await post(daemon, "PATCH", "chat/scale", R"({"replicas":-1})", 400);
    EXPECT_EQ(negative["error"], "ValidationFailed");
    (void)co_await post(daemon, "PATCH", "none/scale", R"({"replicas":1})", 404);
    net::HttpResponse made = co_await daemon.create(training_yaml("llm", 1));
    EXPECT_EQ(made.status, 201);
    nlohmann::json training = co_await post(daemon, "PATCH", "llm/scale", R"({"replicas":2})", 409);
    EXPECT_EQ(training["error"], "ImmutableField");
}

TEST(Changes, single_fields_change_only_in_a_job_as_it_was_read) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(update_fields);
}

}  // namespace
}  // namespace gpuctl
