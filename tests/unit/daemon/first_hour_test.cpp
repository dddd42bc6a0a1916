// What a person does wrong in the first hour: each message alone has to be enough to mend it. It
// names the place in the file, what is wrong and what to write instead.

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

using nlohmann::json;

struct Mistake {
    const char* what;
    const char* from;  // of the text below; replaced by `to`
    const char* to;
    const char* code;
    int line;
    int column;
    std::vector<const char*> says;
};

constexpr const char* kFirstJob =
    "kind: training\n"                         // 1
    "job:\n"                                   // 2
    "  name: my-first-job\n"                   // 3
    "  priority: medium\n"                     // 4
    "environment:\n"                           // 5
    "  image: pytorch/pytorch:2.4\n"           // 6
    "  command: [\"python\", \"train.py\"]\n"  // 7
    "resources:\n"                             // 8
    "  pool: training\n"                       // 9
    "  gpu: 2\n"                               // 10
    "  cpu: 8\n"                               // 11
    "  memory: 32Gi\n";                        // 12

const std::vector<Mistake> kMistakesOfSyntax{
    {"a tab", "  gpu: 2", "\tgpu: 2", "InvalidYaml", 10, 1, {"TAB", "use spaces"}},
    {"a wrong kind",
     "training",
     "trainning",
     "UnsupportedKind",
     1,
     1,
     {"\"trainning\"", "did you mean training?"}},
    {"a kind of Kubernetes",
     "training",
     "Deployment",
     "UnsupportedKind",
     1,
     1,
     {"training, inference, notebook or compute", "pool, quota"}},
    {"a quote that is not closed",
     "\"train.py\"",
     "\"train.py",
     "InvalidYaml",
     7,
     23,
     {"a quoted text is not closed"}},
    {"a key twice",
     "  cpu: 8\n",
     "  cpu: 8\n  cpu: 9\n",
     "InvalidYaml",
     12,
     3,
     {"the key \"cpu\" is already given at line 11, column 3"}},
    {"a missing colon", "  name: my", "  name my", "InvalidYaml", 4, 11, {"check the line before"}},
    {"a deeper line", "  cpu: 8", "   cpu: 8", "InvalidYaml", 11, 7, {"check the line before"}}};

const std::vector<Mistake> kMistakesOfNames{
    {"no kind",
     "kind: training\n",
     "",
     "ValidationFailed",
     1,
     1,
     {"kind is missing", "training, inference, notebook or compute"}},
    {"a misspelt section",
     "environment:",
     "enviroment:",
     "ValidationFailed",
     1,
     1,
     {"environment is missing"}},
    {"a misspelt key",
     "  memory:",
     "  memmory:",
     "ValidationFailed",
     8,
     1,
     {"resources.memory is missing", "memory: 32Gi"}},
    {"no name",
     "  name: my-first-job\n",
     "",
     "ValidationFailed",
     2,
     1,
     {"job.name is missing", "name: llm-sft"}},
    {"capitals in a name",
     "my-first-job",
     "My-First-Job",
     "ValidationFailed",
     3,
     3,
     {"'M'", "lower-case letters, digits and hyphens"}},
    {"an underscore in a name",
     "my-first-job",
     "my_first_job",
     "ValidationFailed",
     3,
     3,
     {"'_'", "lower-case letters, digits and hyphens"}},
    {"a misspelt pool",
     "pool: training",
     "pool: trainig",
     "PoolNotFound",
     9,
     3,
     {"resources.pool trainig does not exist; did you mean training?"}},
    {"a misspelt queue",
     "  priority: medium",
     "  queue: defalt",
     "QueueNotFound",
     4,
     3,
     {"job.queue defalt takes no jobs; did you mean default?"}},
    {"more GPUs than a node has", "gpu: 2", "gpu: 16", "NeverFits", 8, 1, {"resources"}}};

const std::vector<Mistake> kMistakesOfValues{
    {"a word for a number",
     "gpu: 2",
     "gpu: two",
     "ValidationFailed",
     10,
     3,
     {"resources.gpu \"two\"", "a number of GPUs is expected, for example 2"}},
    {"one and a half GPUs",
     "gpu: 2",
     "gpu: 1.5",
     "ValidationFailed",
     10,
     3,
     {"ask for whole GPUs"}},
    {"a text for cores",
     "cpu: 8",
     "cpu: eight",
     "ValidationFailed",
     11,
     3,
     {"cores (8, 0.5) or millicores (500m)", "\"eight\""}},
    {"a list for cores",
     "cpu: 8",
     "cpu: [8]",
     "ValidationFailed",
     11,
     3,
     {"cores (8, 0.5) or millicores (500m), not a list"}},
    {"memory without a unit", "32Gi", "32", "ValidationFailed", 12, 3, {"32 bytes", "as in 32Gi?"}},
    {"an unknown unit", "32Gi", "32GB", "ValidationFailed", 12, 3, {"did you mean 32Gi?"}},
    {"a command as text",
     "[\"python\", \"train.py\"]",
     "python train.py",
     "ValidationFailed",
     7,
     3,
     {"must be a list, for example [\"python\", \"train.py\"]"}},
    {"a command as a map",
     "[\"python\", \"train.py\"]",
     "{run: x}",
     "ValidationFailed",
     7,
     3,
     {"must be a list, not a map; write [a, b]"}},
    {"no image",
     "  image: pytorch/pytorch:2.4\n",
     "",
     "ValidationFailed",
     5,
     1,
     {"environment.image is missing", "image: registry"}},
    {"an unknown priority",
     "medium",
     "urgent",
     "ValidationFailed",
     4,
     3,
     {"high, medium or low", "\"urgent\""}}};

std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The message for the place of the mistake.
json problem_at(const json& answer, int line, int column) {
    for (const json& one : answer.value("errors", json::array())) {
        if (one.value("line", 0) == line && one.value("column", 0) == column) return one;
    }
    return nullptr;
}

void expect_help(const net::HttpResponse& response, const Mistake& mistake) {
    SCOPED_TRACE(mistake.what);
    EXPECT_GE(response.status, 400) << response.body;
    EXPECT_EQ(error_code(response), mistake.code) << response.body;
    const json found = problem_at(parsed(response), mistake.line, mistake.column);
    ASSERT_TRUE(found.is_object()) << response.body;
    const std::string message = found["message"].get<std::string>();
    for (const char* part : mistake.says) {
        EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    }
}

aio::Task<void> make_mistakes_in_jobs(Daemon& daemon) {
    const std::string type = "application/yaml";
    std::vector<Mistake> all = kMistakesOfSyntax;
    all.insert(all.end(), kMistakesOfNames.begin(), kMistakesOfNames.end());
    all.insert(all.end(), kMistakesOfValues.begin(), kMistakesOfValues.end());
    for (const Mistake& mistake : all) {
        const std::string text = with(kFirstJob, mistake.from, mistake.to);
        net::HttpResponse created = co_await daemon.call("POST", "/api/v1/jobs", text, type);
        expect_help(created, mistake);
        net::HttpResponse applied =
            co_await daemon.call("PUT", "/api/v1/jobs/my-first-job", text, type);
        EXPECT_GE(applied.status, 400) << mistake.what << applied.body;
    }
    net::HttpResponse list = co_await daemon.get("/api/v1/jobs");
    EXPECT_EQ(parsed(list)["total"], 0) << "nothing of these was created";
    // Unknown keys warn, with the nearest known one.
    const std::string misspelt = with(kFirstJob, "gpu: 2", "gpus: 2");
    net::HttpResponse warned = co_await daemon.call("POST", "/api/v1/jobs", misspelt, type);
    EXPECT_EQ(warned.status, 201) << warned.body;
    const json warning = parsed(warned)["warnings"][0];
    EXPECT_EQ(warning["line"], 10) << warned.body;
    EXPECT_EQ(warning["message"], "unknown key \"gpus\"; did you mean gpu?");
    net::HttpResponse again = co_await daemon.call("POST", "/api/v1/jobs", kFirstJob, type);
    const Mistake twice{"a name twice", "", "", "JobExists", 3, 3, {"job.name my-first-job"}};
    expect_help(again, twice);
    const std::string said = parsed(again)["message"].get<std::string>();
    EXPECT_NE(said.find("already exists"), std::string::npos) << said;
    EXPECT_NE(said.find("gpuctl apply"), std::string::npos) << said;
}

TEST(FirstHour, each_mistake_in_a_job_is_answered_with_its_place_and_its_remedy) {
    const TempDir directory;
    Daemon daemon{quick_config(directory.path())};
    daemon.run(make_mistakes_in_jobs);
}

constexpr const char* kFirstService =
    "kind: inference\n"             // 1
    "job: {name: chat}\n"           // 2
    "environment: {image: vllm}\n"  // 3
    "service:\n"                    // 4
    "  port: 8000\n"                // 5
    "  replicas: 2\n"               // 6
    "  healthCheck: /health\n"      // 7
    "resources: {pool: training, gpu: 1, cpu: 1, memory: 1Gi}\n";

constexpr const char* kFirstPool =
    "kind: pool\n"      // 1
    "pool:\n"           // 2
    "  name: mine\n"    // 3
    "nodes:\n"          // 4
    "  plain-0: {}\n";  // 5

constexpr const char* kFirstQuota =
    "kind: quota\n"       // 1
    "quota: {name: q}\n"  // 2
    "namespace:\n"        // 3
    "  team-x:\n"         // 4
    "    cpu: 10\n"       // 5
    "    memory: 20Gi\n"  // 6
    "    gpu: 4\n";       // 7

aio::Task<void> make_other_mistakes(Daemon& daemon) {
    const std::string type = "application/yaml";
    const std::vector<Mistake> of_services{
        {"a port as text",
         "8000",
         "http",
         "ValidationFailed",
         5,
         3,
         {"service.port", "whole number from 1 to 65535", "\"http\""}},
        {"a port out of range", "8000", "99999", "ValidationFailed", 5, 3, {"1 to 65535"}},
        {"replicas as text",
         "replicas: 2",
         "replicas: many",
         "ValidationFailed",
         6,
         3,
         {"service.replicas", "\"many\""}},
        {"a health check without a slash",
         "/health",
         "health",
         "ValidationFailed",
         7,
         3,
         {"starts with /"}}};
    for (const Mistake& mistake : of_services) {
        const std::string text = with(kFirstService, mistake.from, mistake.to);
        net::HttpResponse refused = co_await daemon.call("POST", "/api/v1/jobs", text, type);
        expect_help(refused, mistake);
    }
    const std::vector<Mistake> of_policy{{"a name of a pool",
                                          "mine",
                                          "Mine_X",
                                          "ValidationFailed",
                                          3,
                                          3,
                                          {"lower-case letters, digits and hyphens"}},
                                         {"no name of a pool",
                                          "  name: mine\n",
                                          "  description: x\n",
                                          "ValidationFailed",
                                          2,
                                          1,
                                          {"pool.name is missing"}}};
    for (const Mistake& mistake : of_policy) {
        const std::string text = with(kFirstPool, mistake.from, mistake.to);
        net::HttpResponse refused =
            co_await daemon.call("POST", "/api/v1/policy?mode=create", text, type);
        expect_help(refused, mistake);
    }
    const std::vector<Mistake> of_quotas{
        {"cores as text", "cpu: 10", "cpu: ten", "ValidationFailed", 5, 5, {"cores", "\"ten\""}},
        {"fewer GPUs than none", "gpu: 4", "gpu: -4", "ValidationFailed", 7, 5, {"0 or more"}},
        {"a capital in a namespace", "team-x", "Team", "ValidationFailed", 4, 3, {"lower-case"}}};
    for (const Mistake& mistake : of_quotas) {
        const std::string text = with(kFirstQuota, mistake.from, mistake.to);
        net::HttpResponse refused =
            co_await daemon.call("POST", "/api/v1/policy?mode=create", text, type);
        expect_help(refused, mistake);
    }
    const std::string no_unit = with(kFirstQuota, "20Gi", "20");
    net::HttpResponse warned =
        co_await daemon.call("POST", "/api/v1/policy?mode=create", no_unit, type);
    EXPECT_EQ(warned.status, 200) << warned.body;
    EXPECT_NE(warned.body.find("is a unit such as Gi missing?"), std::string::npos) << warned.body;
}

TEST(FirstHour, mistakes_in_services_pools_and_quotas_are_answered_likewise) {
    const TempDir directory;
    Daemon daemon{quick_config(directory.path())};
    daemon.run(make_other_mistakes);
}

}  // namespace
}  // namespace gpuctl
