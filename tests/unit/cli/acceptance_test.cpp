// Cases of the acceptance list that the command line decides.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using nlohmann::json;
using Answers = std::vector<CannedServer::Answer>;

std::string file_named(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + name;
    std::ofstream{path} << text;
    return path;
}

const std::string kMade =
    R"({"kind":"training","namespace":"default","jobId":"a","status":"pending"})";

TEST(Acceptance, C1_and_C14_create_prints_name_namespace_and_how_to_reach_the_job) {
    const std::string file = file_named("accept_web.yaml", "kind: inference\njob: {name: web}\n");
    CannedServer server{Answers{
        {201, R"({"kind":"inference","namespace":"team-a","jobId":"web","status":"pending"})"},
        {200, R"({"accessMethods":{"podIpAccess":{"podIp":null,"port":8000,"url":null},)"
              R"("serviceAccess":{"host":"svc-web","port":80,"url":"http://svc-web:80"},)"
              R"("nodePortAccess":{"nodeIp":"10.0.0.1","nodePort":30080,)"
              R"("url":"http://10.0.0.1:30080"}}})"}}};
    const auto outcome = server.run({"create", "-f", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "inference team-a/web created (pending)\n"
              "Access:\n"
              "  pod:       initialising, port 8000 expected\n"
              "  service:   http://svc-web:80 (inside the cluster)\n"
              "  node port: http://10.0.0.1:30080\n"
              "  try:       curl http://10.0.0.1:30080\n");
    CannedServer absent{Answers{
        {201, R"({"kind":"inference","namespace":"team-a","jobId":"web","status":"pending"})"},
        {404, R"({"error":"JobNotFound","message":"not yet"})"}}};
    EXPECT_EQ(absent.run({"create", "-f", file}).exit_code, 0) << "absence is no error";
}

TEST(Acceptance, C2_create_takes_several_files_in_both_forms) {
    const std::string a = file_named("accept_a.yaml", "kind: training\njob: {name: a}\n");
    const std::string b = file_named("accept_b.yaml", "kind: training\njob: {name: b}\n");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"create", "-f", a, "-f", b}, {"create", "-f", a, b}}) {
        CannedServer server{201, kJson, kMade};
        EXPECT_EQ(server.run(words).request_lines.size(), 2U);
    }
}

TEST(Acceptance, C3_n_is_sent_and_the_document_decides_at_the_server) {
    const std::string a = file_named("accept_a.yaml", "kind: training\njob: {name: a}\n");
    CannedServer server{201, kJson, kMade};
    EXPECT_EQ(server.run({"create", "-f", a, "-n", "team-a"}).request_line,
              "POST /api/v1/jobs?namespace=team-a HTTP/1.1");
}

TEST(Acceptance, C9_a_duplicate_is_an_error_with_its_key_in_json) {
    const std::string a = file_named("accept_a.yaml", "kind: training\njob: {name: a}\n");
    const std::string taken =
        R"({"error":"JobExists","message":"create job t/a: it already exists and is Running; )"
        R"(change it with `gpuctl apply`, delete it first, or choose another name"})";
    CannedServer server{409, "application/problem+json", taken};
    const auto outcome = server.run({"create", "-f", a});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_NE(outcome.err.find("already exists"), std::string::npos);
    EXPECT_NE(outcome.err.find("apply"), std::string::npos);
    CannedServer again{409, "application/problem+json", taken};
    EXPECT_TRUE(json::parse(again.run({"create", "-f", a, "--json"}).out)[0].contains("error"));
}

TEST(Acceptance, E1_and_E2_get_jobs_has_its_header_even_when_empty) {
    CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
    const auto outcome = server.run({"get", "jobs"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, "JOB ID  NAME  NAMESPACE  KIND  STATUS  READY  NODE  IP  AGE\n");
}

TEST(Acceptance, E3_and_E9_a_row_is_a_pod_and_json_has_the_nine_keys) {
    const std::string list =
        R"({"total":1,"items":[{"jobId":"new-test-inference-job-854c6c5cd-kfh77",)"
        R"("name":"new-test-inference-job","namespace":"default","kind":"inference",)"
        R"("status":"ImagePullBackOff","ready":"0/1","node":"n1","ip":"10.1.1.1",)"
        R"("createdAt":"2026-01-01T00:00:00Z"}]})";
    CannedServer text{200, kJson, list};
    EXPECT_NE(
        text.run({"get", "jobs"})
            .out.find("new-test-inference-job-854c6c5cd-kfh77  new-test-inference-job  default"),
        std::string::npos);
    CannedServer document{200, kJson, list};
    const json rows = json::parse(document.run({"get", "jobs", "--json"}).out);
    for (const char* key :
         {"job_id", "name", "namespace", "kind", "status", "ready", "node", "ip", "age"}) {
        EXPECT_TRUE(rows[0].contains(key)) << key;
    }
    EXPECT_EQ(rows[0]["status"], "ImagePullBackOff");
}

TEST(Acceptance, E5_to_E7_selections_are_sent) {
    CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
    const std::string line = server
                                 .run({"get", "jobs", "-n", "default", "--pool", "test-pool",
                                       "--kind", "compute", "--all-schedulers"})
                                 .request_line;
    for (const char* part :
         {"namespace=default", "pool=test-pool", "kind=compute", "allSchedulers=true"}) {
        EXPECT_NE(line.find(part), std::string::npos) << line;
    }
}

const std::string kDetail =
    R"({"jobId":"web","name":"web","namespace":"t","kind":"inference","status":"Running",)"
    R"("pool":"p","createdAt":"2026-01-01T00:00:00Z","priority":"medium",)"
    R"("yamlContent":"kind: inference\njob: {name: web}\n",)"
    R"("gpus":[{"pod":"web-0","node":"n1","gpu":0.5,"device":3},)"
    R"({"pod":"web-1","node":"n2","gpu":8,"device":null}],)"
    R"("events":[{"age":"5s","type":"Normal","reason":"Scheduled","from":"gpuctld",)"
    R"("object":"Pod/web-0","message":"was placed on node n1"}],)"
    R"("accessMethods":{"podIpAccess":{"podIp":"10.1.1.1","port":8000,)"
    R"("url":"http://10.1.1.1:8000"},"serviceAccess":{"url":"http://svc-web:8000"},)"
    R"("nodePortAccess":{"nodeIp":"10.0.0.1","nodePort":30080,"url":"http://10.0.0.1:30080"}}})";

TEST(Acceptance, F5_access_methods_show_the_pod_and_the_node_port) {
    CannedServer server{200, kJson, kDetail};
    const auto outcome = server.run({"describe", "job", "web"});
    EXPECT_NE(outcome.out.find("  pod:       http://10.1.1.1:8000\n"), std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("  node port: http://10.0.0.1:30080\n"), std::string::npos);
    EXPECT_NE(outcome.out.find("  web-0  n1    0.5  3\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("  web-1  n2    8    chosen by the kubelet\n"), std::string::npos);
}

TEST(Acceptance, F6_json_of_a_job_has_the_keys_of_the_contract) {
    CannedServer server{200, kJson, kDetail};
    const json job = json::parse(server.run({"describe", "job", "web", "--json"}).out);
    for (const char* key : {"job_id", "name", "namespace", "kind", "status", "age", "started",
                            "completed", "priority", "pool", "resources", "metrics",
                            "resource_type", "yaml_content", "events", "access_methods"}) {
        EXPECT_TRUE(job.contains(key)) << key;
    }
    EXPECT_EQ(job["resource_type"], "Deployment");
    EXPECT_EQ(job["yaml_content"]["job"]["name"], "web");
    EXPECT_EQ(job["access_methods"]["node_port_access"]["node_port"], 30080);
    CannedServer again{200, kJson, kDetail};
    EXPECT_TRUE(json::parse(again.run({"describe", "job", "web", "-o", "json"}).out)
                    .contains("accessMethods"))
        << "-o json is the object of REST";
}

TEST(Acceptance, I6_logs_in_json_have_lines_pod_and_namespace) {
    CannedServer server{200, kJson, R"({"logs":["one"],"pod":"a-0","namespace":"t"})"};
    const json document = json::parse(server.run({"logs", "a", "--json"}).out);
    EXPECT_EQ(document["logs"], json{"one"});
    EXPECT_EQ(document["pod_name"], "a-0");
    EXPECT_EQ(document["namespace"], "t");
}

TEST(Logs, options_of_the_api_server_are_passed_on) {
    CannedServer server{200, kJson, R"({"logs":["2026-01-01T00:00:00Z loss 1"],"pod":"a-0"})"};
    const auto outcome = server.run(
        {"logs", "a", "--since", "10m", "--previous", "--timestamps", "--grep", "^loss"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* part :
         {"tail=10000", "sinceSeconds=600", "previous=true", "timestamps=true"}) {
        EXPECT_NE(outcome.request_line.find(part), std::string::npos) << outcome.request_line;
    }
    EXPECT_EQ(outcome.out, "2026-01-01T00:00:00Z loss 1\n") << "a pattern is about the line alone";
    CannedServer follow{200, kJson, "{}"};
    const auto refused = follow.run({"logs", "a", "-f", "--previous"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.request_line, "");
}

TEST(Notebook, prints_an_address_with_the_token_that_its_document_has) {
    const std::string job =
        R"({"kind":"notebook","name":"lab","status":"Running","yamlContent":)"
        R"("environment:\n  args: [--ServerApp.token=abc123]\n",)"
        R"("accessMethods":{"podIpAccess":{"url":null},"serviceAccess":{"url":"http://svc-lab:8888"},)"
        R"("nodePortAccess":{"url":"http://10.0.0.1:30888"}}})";
    CannedServer server{200, kJson, job};
    EXPECT_EQ(server.run({"get", "notebook", "lab"}).out, "http://10.0.0.1:30888/?token=abc123\n");
    CannedServer other{200, kJson, R"({"kind":"training","name":"lab"})"};
    const auto refused = other.run({"get", "notebook", "lab"});
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_NE(refused.err.find("not a notebook"), std::string::npos);
}

TEST(Top, shows_pools_nodes_and_the_largest_jobs) {
    CannedServer server{Answers{
        {200, R"({"total":1,"items":[{"name":"p","status":"active","gpuUsed":4,"gpuTotal":8}]})"},
        {200, R"({"total":1,"items":[{"nodeName":"n1","status":"active","gpuUsed":4,)"
              R"("gpuTotal":8}]})"},
        {200, R"({"total":2,"items":[{"name":"s","namespace":"t","gpuTotal":1},)"
              R"({"name":"l","namespace":"t","gpuTotal":3}]})"}}};
    const auto outcome = server.run({"top", "--jobs", "1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("[##########..........]"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("t/l"), std::string::npos);
    EXPECT_EQ(outcome.out.find("t/s"), std::string::npos) << "only the largest one was asked for";
    EXPECT_NE(outcome.out.find("and 1 more running jobs"), std::string::npos);
}

}  // namespace
}  // namespace gpuctl::cli
