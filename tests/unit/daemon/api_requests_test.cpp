// The REST API of a whole daemon: refused, repeated and unusual requests.

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

struct BadRequest {
    const char* method;
    std::string target;
    std::string body;
    const char* type;
    int status;
    const char* code;
};

const std::string kGood = training_yaml("good", 1);

const BadRequest kBadRequests[] = {
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
    {"POST", "/api/v1/jobs?namespace=default%2F..%2Fkube-system", kGood, "application/yaml", 400,
     "BadRequest"},
    {"POST", "/api/v1/jobs?namespace=" + std::string(300, 'x'), kGood, "application/yaml", 400,
     "BadRequest"},
    {"POST", "/api/v1/jobs?namespace=a&namespace=B_", kGood, "application/yaml", 400, "BadRequest"},
    {"GET", "/api/v1/jobs?namespace=", "", "", 400, "BadRequest"},
    {"DELETE", "/api/v1/jobs/absent?namespace=", "", "", 400, "BadRequest"},
    {"GET", "/api/v1/jobs?pool", "", "", 400, "BadRequest"},
    {"GET", "/api/v1/jobs?page=", "", "", 400, "BadRequest"},
    {"GET", "/api/v1/jobs/absent/logs?since=", "", "", 400, "BadRequest"},
    {"GET", "/api/v1/jobs?pool=training%E2%80%8B", "", "", 400, "BadRequest"},
    {"GET", "/api/v1/jobs/absent%C2%A0", "", "", 400, "BadRequest"},
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
    {"POST", "/api/v1/jobs", kGood + "storage: {workdirs: [/etc/passwd]}\n", "application/yaml",
     400, "ValidationFailed"},
    {"POST", "/api/v1/jobs", kGood, "text/plain", 415, "UnsupportedMediaType"},
    {"POST", "/api/v1/jobs", kGood, "", 415, "UnsupportedMediaType"},
    {"POST", "/api/v1/jobs", "a: [", "application/yaml", 400, "InvalidYaml"},
    {"POST", "/api/v1/jobs", "", "application/yaml", 400, "InvalidYaml"},
    {"POST", "/api/v1/jobs", "{", "application/json", 400, "InvalidJson"},
    {"POST", "/api/v1/jobs", kGood + "---\n" + kGood, "application/yaml", 400, "BadRequest"},
    {"POST", "/api/v1/jobs", R"({"yamlContent": 5})", "application/json", 400, "BadRequest"},
    {"POST", "/api/v1/jobs", "kind: cronjob\n", "application/yaml", 400, "UnsupportedKind"},
    {"POST", "/api/v1/jobs", training_yaml("UPPER", 1), "application/yaml", 400,
     "ValidationFailed"},
    {"POST", "/api/v1/jobs",
     R"({"kind":"training","job":{"name":"a"},"environment":{"image":"i"},"resources":{"cpu":1,)"
     R"("memory":"1Gi","gpu":null}})",
     "application/json", 400, "ValidationFailed"},
    {"POST", "/api/v1/jobs?strict=perhaps", kGood, "application/yaml", 400, "BadRequest"},
    {"POST", "/api/v1/jobs", training_yaml("big", 9), "application/yaml", 409, "NeverFits"},
    {"POST", "/api/v1/jobs", training_yaml("lost", 1, 1, "absent"), "application/yaml", 404,
     "PoolNotFound"},
    {"POST", "/api/v1/jobs", std::string((1u << 20) + 1, ' '), "application/yaml", 413,
     "BodyTooLarge"},
};

aio::Task<void> refuse_bad_requests(Daemon& daemon) {
    for (const BadRequest& wrong : kBadRequests) {
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
    EXPECT_EQ(parsed(nope)["message"],
              "pool nope does not exist; existing pools: default, training");
    net::HttpResponse absent = co_await daemon.get("/api/v1/pools/absent");
    EXPECT_EQ(parsed(absent)["message"],
              "pool absent does not exist; existing pools: default, training");
    net::HttpResponse invisible = co_await daemon.get("/api/v1/jobs/absent%C2%A0");
    EXPECT_EQ(
        parsed(invisible)["message"],
        "a name in the request's address contains U+00A0 NO-BREAK SPACE (character 7); remove "
        "it");
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
    const std::string port = std::to_string(daemon.app->port());
    for (const auto& [origin, status] : {std::pair{"http://127.0.0.1:" + port, 200},
                                         {"HTTP://127.0.0.1:" + port, 200},
                                         {std::string{"http://127.0.0.1"}, 403},
                                         {"http://127.0.0.1:" + port + "@evil.example", 403},
                                         {"http://localhost:" + port, 403},
                                         {std::string{"null"}, 403}}) {
        net::HttpRequest page;
        page.target = "/api/v1/jobs";
        page.fields.set("Origin", origin);
        net::HttpResponse answer = co_await daemon.send(page);
        EXPECT_EQ(answer.status, status) << origin;
    }
    for (const auto& [host, status] : {std::pair{"LOCALHOST", 200},
                                       {"[::1]:8000", 200},
                                       {"127.0.0.1:", 403},
                                       {"127.0.0.1.evil.example", 403},
                                       {"2130706433", 403},
                                       {"localhost:80:80", 403}}) {
        net::HttpRequest page;
        page.target = "/api/v1/jobs";
        page.fields.set("Host", host);
        net::HttpResponse answer = co_await daemon.send(page);
        EXPECT_EQ(answer.status, status) << host;
    }
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
    EXPECT_EQ(parsed(ambiguous)["errors"][0]["message"], "team-a/llm") << ambiguous.body;
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
    EXPECT_EQ(moved.status, 422) << "no answer claims a job that was never created";
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

TEST(Api, every_get_route_has_a_head_and_encoded_bodies_are_refused) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_oddly);
}

}  // namespace
}  // namespace gpuctl
