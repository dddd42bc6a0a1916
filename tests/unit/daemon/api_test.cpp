// The REST API of a whole daemon on the embedded cluster.

#include <gtest/gtest.h>

#include "daemon/api/shapes.hpp"
#include "daemon_fixture.hpp"

namespace gpuctl {
namespace {

aio::Task<void> live_one_job(Daemon& daemon) {
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

TEST(Api, a_gang_lives_from_create_to_delete) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(live_one_job);
}

TEST(Api, in_a_list_of_pods_a_job_without_pods_has_nothing_that_could_be_ready) {
    JobView job;
    job.key = {"default", "llm"};
    job.pods_wanted = 2;
    EXPECT_EQ(api::job_row(job, Instant{})["ready"], "0/2");
    EXPECT_EQ(api::row_without_pods(job, Instant{})["ready"], "0/0");
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
    EXPECT_EQ(body["estimatedStart"].size(), 3u) << body.dump();
    EXPECT_FALSE(body["blockers"].empty());
    EXPECT_EQ(body["blockers"][0]["reason"], "gpu_insufficient") << body.dump();
    EXPECT_FALSE(body["blockers"][0]["sentence"].get<std::string>().empty());
    EXPECT_EQ(body["blockers"][0]["figures"]["gpus_needed"], 4) << "GPUs, not thousandths";
    EXPECT_EQ(body["blockers"][0]["figures"]["gpus_total"], 16);
    net::HttpResponse running = co_await daemon.get("/api/v1/jobs/first/explain");
    EXPECT_TRUE(parsed(running)["blockers"].empty());
    EXPECT_EQ(parsed(running)["summary"].get<std::string>().substr(0, 14), "it runs since ")
        << running.body;

    net::HttpResponse helps = co_await daemon.get("/api/v1/jobs/second/remedies");
    std::map<std::string, std::string> remedies;
    const nlohmann::json named = parsed(helps)["remedies"];
    for (const auto& one : named) {
        remedies[one["change"].get<std::string>()] = one["subject"].get<std::string>();
    }
    EXPECT_EQ(remedies["job_ends"], "default/first") << helps.body;
    EXPECT_EQ(remedies["more_nodes"], "train-0") << helps.body;
    net::HttpResponse of_running = co_await daemon.get("/api/v1/jobs/first/remedies");
    EXPECT_TRUE(parsed(of_running)["remedies"].empty()) << of_running.body;

    net::HttpResponse logs = co_await daemon.get("/api/v1/jobs/second/logs");
    EXPECT_EQ(parsed(logs)["logs"].size(), 0u);
    EXPECT_EQ(parsed(logs)["message"].get<std::string>().substr(0, 8), "Pending:");

    net::HttpResponse pools = co_await daemon.get("/api/v1/pools/training");
    const nlohmann::json pool = parsed(pools);
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
    const auto ask = [&daemon](std::string yaml) {
        return daemon.call("POST", "/api/v1/what-if", std::move(yaml), "application/yaml");
    };
    net::HttpResponse fits = co_await ask(training_yaml("llm", 8, 2));
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
    net::HttpResponse waits = co_await ask(training_yaml("llm", 8, 2));
    const nlohmann::json no = parsed(waits);
    EXPECT_EQ(no["starts"], false) << waits.body;
    EXPECT_EQ(no["position"], 1);
    EXPECT_FALSE(no["blockers"].empty());
    EXPECT_EQ(no["remedies"][0]["change"], "fewer_gpus") << waits.body;
    EXPECT_EQ(no["remedies"][0]["amount"], 4);
    EXPECT_EQ(no["remedies"][1]["change"], "fewer_ranks") << waits.body;

    net::HttpResponse never = co_await ask(training_yaml("llm", 9, 1));
    EXPECT_EQ(error_code(never), "NeverFits");
    net::HttpResponse taken = co_await ask(training_yaml("first", 8, 1));
    EXPECT_EQ(error_code(taken), "JobExists");
    net::HttpResponse broken = co_await ask("kind: [");
    EXPECT_EQ(error_code(broken), "InvalidYaml");
}

aio::Task<void> ask_preview(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.create(training_yaml("first", 8, 1));
    EXPECT_EQ(made.status, 201);
    const bool runs = co_await daemon.until_status("first", "Running");
    EXPECT_TRUE(runs);
    const auto ask = [&daemon](std::string target, std::string yaml) {
        return daemon.call("POST", std::move(target), std::move(yaml), "application/yaml");
    };
    // A namespace that may hold nothing: the job would not have started.
    net::HttpResponse told = co_await ask("/api/v1/preview?hours=1",
                                          "policy: {tenants: [{name: default, gpuMaximum: 4}]}\n");
    EXPECT_EQ(told.status, 200) << told.body;
    const nlohmann::json body = parsed(told);
    EXPECT_EQ(body["all"]["jobs"], 1) << told.body;
    EXPECT_EQ(body["all"]["before"]["jobsNotStarted"], 0);
    EXPECT_EQ(body["all"]["after"]["jobsNotStarted"], 1);
    EXPECT_EQ(body["lose"][0]["jobId"], "first");
    net::HttpResponse wrong = co_await ask("/api/v1/preview", "policy: {pols: 1}\n");
    EXPECT_EQ(error_code(wrong), "InvalidConfiguration");
    net::HttpResponse hours = co_await ask("/api/v1/preview?hours=x", "");
    EXPECT_EQ(error_code(hours), "BadRequest");
}

TEST(Api, another_configuration_is_tried_on_the_past) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_preview);
}

TEST(Api, a_job_is_tried_without_being_submitted) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_what_if);
}

TEST(Api, a_waiting_job_is_explained_with_numbers) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(explain_waiting);
}

aio::Task<void> refuse_bad_requests(Daemon& daemon) {
    struct Case {
        const char* method;
        const char* target;
        std::string body;
        const char* type;
        int status;
        const char* code;
    };
    const std::string good = training_yaml("good", 1);
    const std::string long_namespace = "/api/v1/jobs?namespace=" + std::string(300, 'x');
    const Case cases[] = {
        {"GET", "/nothing", "", "", 404, "NotFound"},
        {"PUT", "/api/v1/jobs", "", "", 405, "MethodNotAllowed"},
        {"GET", "/api/v1/jobs?page=0", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs?pageSize=101", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs?pagesize=10", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs?kind=cronjob", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs?namespace=B_", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs/absent?namespace=a%20b", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs/absent/explain?namespace=..", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs/absent/logs?namespace=-a", "", "", 400, "BadRequest"},
        {"DELETE", "/api/v1/jobs/absent?namespace=a%2Fb", "", "", 400, "BadRequest"},
        {"POST", "/api/v1/jobs?namespace=default%2F..%2Fkube-system", good, "application/yaml", 400,
         "BadRequest"},
        {"POST", long_namespace.c_str(), good, "application/yaml", 400, "BadRequest"},
        {"POST", "/api/v1/jobs?namespace=a&namespace=B_", good, "application/yaml", 400,
         "BadRequest"},
        {"GET", "/api/v1/jobs?pool=nope", "", "", 404, "PoolNotFound"},
        {"GET", "/api/v1/nodes?pool=nope", "", "", 404, "PoolNotFound"},
        {"GET", "/api/v1/queues?pool=nope", "", "", 404, "PoolNotFound"},
        {"GET", "/api/v1/jobs?status=bogus", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/nodes?status=bogus", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs/absent/logs?tail=0", "", "", 400, "BadRequest"},
        {"GET", "/api/v1/jobs/absent", "", "", 404, "JobNotFound"},
        {"GET", "/api/v1/pools/absent", "", "", 404, "PoolNotFound"},
        {"GET", "/api/v1/nodes/absent", "", "", 404, "NodeNotFound"},
        {"DELETE", "/api/v1/jobs/absent", "", "", 404, "JobNotFound"},
        {"POST", "/api/v1/jobs", good + "storage: {data: {mountPath: /d, size: 1Gi}}\n",
         "application/yaml", 400, "ValidationFailed"},
        {"POST", "/api/v1/jobs", good, "text/plain", 415, "UnsupportedMediaType"},
        {"POST", "/api/v1/jobs", good, "", 415, "UnsupportedMediaType"},
        {"POST", "/api/v1/jobs", "a: [", "application/yaml", 400, "InvalidYaml"},
        {"POST", "/api/v1/jobs", "", "application/yaml", 400, "InvalidYaml"},
        {"POST", "/api/v1/jobs", "{", "application/json", 400, "InvalidJson"},
        {"POST", "/api/v1/jobs", good + "---\n" + good, "application/yaml", 400, "BadRequest"},
        {"POST", "/api/v1/jobs", R"({"yamlContent": 5})", "application/json", 400, "BadRequest"},
        {"POST", "/api/v1/jobs", "kind: cronjob\n", "application/yaml", 400, "UnsupportedKind"},
        {"POST", "/api/v1/jobs", training_yaml("UPPER", 1), "application/yaml", 400,
         "ValidationFailed"},
        {"POST", "/api/v1/jobs?strict=perhaps", good, "application/yaml", 400, "BadRequest"},
        {"POST", "/api/v1/jobs", training_yaml("big", 9), "application/yaml", 409, "NeverFits"},
        {"POST", "/api/v1/jobs", training_yaml("lost", 1, 1, "absent"), "application/yaml", 404,
         "PoolNotFound"},
        {"POST", "/api/v1/jobs", std::string((1u << 20) + 1, ' '), "application/yaml", 413,
         "BodyTooLarge"},
    };
    for (const Case& wrong : cases) {
        SCOPED_TRACE(std::string{wrong.method} + " " + wrong.target + " " +
                     wrong.body.substr(0, 80));
        net::HttpResponse response =
            co_await daemon.call(wrong.method, wrong.target, wrong.body, wrong.type);
        EXPECT_EQ(response.status, wrong.status) << response.body;
        EXPECT_EQ(error_code(response), wrong.code);
        EXPECT_TRUE(response.fields.has("X-Request-Id"));
        if (response.status == 405) {
            EXPECT_EQ(response.fields.get("Allow"), "POST, GET, HEAD");
        }
    }
    net::HttpResponse nope = co_await daemon.get("/api/v1/jobs?pool=nope");
    EXPECT_EQ(parsed(nope)["message"], "there is no pool nope; there are: default, training");
    net::HttpResponse list = co_await daemon.get("/api/v1/jobs?pool=default-pool&status=ERROR");
    EXPECT_EQ(list.status, 200) << list.body;
    list = co_await daemon.get("/api/v1/jobs");
    EXPECT_EQ(parsed(list)["total"], 0) << "nothing of all that was created";
}

TEST(Api, bad_requests_are_refused_with_a_problem_document) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(refuse_bad_requests);
}

aio::Task<void> guard_against_browsers(Daemon& daemon) {
    net::HttpRequest rebound;
    rebound.target = "/api/v1/jobs";
    rebound.fields.set("Host", "evil.example:8000");
    net::HttpResponse refused = co_await daemon.send(rebound);
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(error_code(refused), "Forbidden");
    net::HttpRequest foreign;
    foreign.target = "/api/v1/jobs";
    foreign.fields.set("Origin", "http://evil.example");
    net::HttpResponse refused_origin = co_await daemon.send(foreign);
    EXPECT_EQ(refused_origin.status, 403);
    net::HttpRequest named;
    named.target = "/health";
    named.fields.set("Host", "localhost:8000");
    named.fields.set("X-Request-Id", "my-id.1");
    net::HttpResponse allowed = co_await daemon.send(named);
    EXPECT_EQ(allowed.status, 200);
    EXPECT_EQ(allowed.fields.get("X-Request-Id"), "my-id.1");
    named.fields.set("X-Request-Id", "<script>");
    net::HttpResponse cleaned = co_await daemon.send(named);
    EXPECT_NE(cleaned.fields.get("X-Request-Id"), "<script>");
    EXPECT_EQ(cleaned.fields.get("X-Content-Type-Options"), "nosniff");
}

TEST(Api, requests_that_a_web_page_could_cause_are_refused) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(guard_against_browsers);
}

aio::Task<void> same_name_twice(Daemon& daemon) {
    net::HttpResponse dry = co_await daemon.create(training_yaml("llm", 1), "?dryRun=true");
    EXPECT_EQ(dry.status, 200) << dry.body;
    EXPECT_EQ(parsed(dry)["dryRun"], true);
    net::HttpResponse absent = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_EQ(absent.status, 404);
    net::HttpResponse first = co_await daemon.create(training_yaml("llm", 1), "?namespace=team-a");
    EXPECT_EQ(first.status, 201) << first.body;
    net::HttpResponse again = co_await daemon.create(training_yaml("llm", 1), "?namespace=team-a");
    EXPECT_EQ(again.status, 409);
    EXPECT_EQ(error_code(again), "JobExists");
    net::HttpResponse other = co_await daemon.create(training_yaml("llm", 1), "?namespace=team-b");
    EXPECT_EQ(other.status, 201);
    net::HttpResponse ambiguous = co_await daemon.get("/api/v1/jobs/llm");
    EXPECT_EQ(ambiguous.status, 409);
    EXPECT_EQ(error_code(ambiguous), "JobAmbiguous");
    EXPECT_EQ(parsed(ambiguous)["errors"].size(), 2u) << ambiguous.body;
    net::HttpResponse chosen = co_await daemon.get("/api/v1/jobs/llm?namespace=team-b");
    EXPECT_EQ(parsed(chosen)["namespace"], "team-b");
    const std::string wrapped =
        nlohmann::json{{"yamlContent", training_yaml("wrapped", 1)}, {"dryRun", false}}.dump();
    net::HttpResponse json =
        co_await daemon.call("POST", "/api/v1/jobs", wrapped, "application/json");
    EXPECT_EQ(json.status, 201) << json.body;
    net::HttpResponse paged = co_await daemon.get("/api/v1/jobs?view=job&page=2&pageSize=2");
    EXPECT_EQ(parsed(paged)["total"], 3);
    EXPECT_EQ(parsed(paged)["items"].size(), 1u);
}

TEST(Api, names_are_unique_per_namespace_and_bare_ones_may_be_ambiguous) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(same_name_twice);
}

net::HttpRequest keyed(const std::string& yaml, const std::string& key) {
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/api/v1/jobs";
    request.body = yaml;
    request.fields.set("Content-Type", "application/yaml");
    request.fields.set("Idempotency-Key", key);
    return request;
}

aio::Task<void> repeat_with_key(Daemon& daemon) {
    net::HttpResponse first = co_await daemon.send(keyed(training_yaml("llm", 1), "key-1"));
    EXPECT_EQ(first.status, 201) << first.body;
    net::HttpResponse again = co_await daemon.send(keyed(training_yaml("llm", 1), "key-1"));
    EXPECT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.fields.get("Idempotency-Replayed"), "true");
    net::HttpResponse other = co_await daemon.send(keyed(training_yaml("other", 1), "key-1"));
    EXPECT_EQ(other.status, 422);
    EXPECT_EQ(error_code(other), "IdempotencyKeyReused");
    net::HttpRequest elsewhere = keyed(training_yaml("llm", 1), "key-1");
    elsewhere.target += "?namespace=team-b";
    net::HttpResponse moved = co_await daemon.send(std::move(elsewhere));
    EXPECT_EQ(moved.status, 422) << "nobody is told that a job exists which was never made";
    net::HttpResponse refused = co_await daemon.send(keyed(training_yaml("big", 99), "key-2"));
    EXPECT_EQ(refused.status, 409);
    net::HttpResponse corrected = co_await daemon.send(keyed(training_yaml("big", 1), "key-2"));
    EXPECT_EQ(corrected.status, 201) << "a refused request does not use its key up";
}

aio::Task<void> repeat_after_restart(Daemon& daemon) {
    net::HttpResponse again = co_await daemon.send(keyed(training_yaml("llm", 1), "key-1"));
    EXPECT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(parsed(again)["jobId"], "llm");
    net::HttpResponse other = co_await daemon.send(keyed(training_yaml("else", 1), "key-1"));
    EXPECT_EQ(other.status, 422);
}

TEST(Api, an_idempotency_key_gives_one_job_also_across_a_restart) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(repeat_with_key);
    Daemon{quick_config(directory.path())}.run(repeat_after_restart);
}

aio::Task<void> ask_oddly(Daemon& daemon) {
    for (const char* target : {"/livez", "/metrics", "/api/v1/jobs"}) {
        net::HttpResponse head = co_await daemon.call("HEAD", target, "", "");
        EXPECT_EQ(head.status, 200) << target;
        EXPECT_EQ(head.body, "");
        EXPECT_NE(head.fields.get("Content-Length"), "0") << target;
    }
    net::HttpRequest coded = keyed("abcd", "key");
    coded.fields.set("Content-Encoding", "gzip");
    net::HttpResponse refused = co_await daemon.send(std::move(coded));
    EXPECT_EQ(refused.status, 415);
    EXPECT_NE(refused.body.find("Content-Encoding is \\\"gzip\\\""), std::string::npos)
        << refused.body;
}

TEST(Api, whatever_can_be_got_has_a_head_and_coded_bodies_are_refused_as_such) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_oddly);
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

TEST(Api, a_reload_that_cannot_be_taken_whole_changes_nothing) {
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
