// An empty value differs from an absent one: an error or a warning for every kind of key, the same
// in YAML and in JSON.

#include <gtest/gtest.h>

#include "daemon/config/load.hpp"
#include "unit/wire/job_document_support.hpp"

namespace gpuctl::wire {
namespace {

constexpr const char* kNothing = "";

// A document with one member of a section set to `value`, which is JSON and so YAML as well.
std::string document_with(std::string_view pointer, const std::string& value) {
    nlohmann::json document = nlohmann::json::parse(
        R"({"kind":"training","job":{"name":"a"},"environment":{"image":"i"},
            "resources":{"cpu":1,"memory":"1Gi","gpu":2}})");
    if (pointer.starts_with("/service")) document["kind"] = "inference";
    document[nlohmann::json::json_pointer{std::string{pointer}}] = nlohmann::json::parse(value);
    return document.dump();
}

// "error ...", "warning ..." or "".
std::string findings_of(const Result<Document>& document) {
    if (!document) return "unreadable " + document.error().message;
    const auto decoded = decode_job(*document, {});
    if (!decoded) return "error " + joined(decoded.error().details);
    return decoded->warnings.empty() ? kNothing : "warning " + joined(decoded->warnings);
}

std::string in_yaml(const std::string& text) {
    const auto documents = parse_yaml(text);
    if (!documents) return "unreadable " + documents.error().message;
    return findings_of(documents->at(0));
}

struct Row {
    const char* pointer;
    const char* with_null;
    const char* with_empty_text;
};

TEST(EmptyValues, of_every_kind_of_key_are_reported_in_yaml_and_in_json) {
    const Row table[] = {
        // words: names, quantities, choices
        {"/kind", "error", "error"},
        {"/job/name", "error", "error"},
        {"/job/priority", "error", "error"},
        {"/resources/gpu", "error", "error"},
        {"/resources/cpu", "error", "error"},
        {"/resources/memory", "error", "error"},
        {"/environment/image", "error", "error"},
        {"/environment/imagePullSecret", "error", "error"},
        {"/service/type", "error", "error"},
        // names that may be absent: "" counts as that
        {"/job/namespace", "error", "warning"},
        {"/job/queue", "error", "warning"},
        {"/resources/pool", "error", "warning"},
        {"/resources/gpuType", "error", "warning"},
        {"/resources/gpuShare", "error", "warning"},
        {"/placement/spread", "error", "warning"},
        {"/service/healthCheck", "error", "warning"},
        // numbers, truth, times
        {"/resources/nodeCount", "error", "error"},
        {"/job/preemptible", "error", "error"},
        {"/job/maxRunTime", "error", "error"},
        {"/service/port", "error", "error"},
        {"/service/replicas", "error", "error"},
        {"/elastic/minReplicas", "error", "error"},
        // text for people
        {"/job/description", "warning", kNothing},
        // maps and lists
        {"/job", "error", "error"},
        {"/environment", "error", "error"},
        {"/resources", "error", "error"},
        {"/elastic", "warning", "error"},
        {"/placement", "warning", "error"},
        {"/storage", "warning", "error"},
        {"/service", "warning", "error"},
        {"/storage/workdirs", "warning", "error"},
        {"/environment/command", "warning", "error"},
        {"/environment/args", "warning", "error"},
        {"/environment/env", "warning", "error"},
        // inside lists and maps
        {"/storage/workdirs/0", "error", "error"},
        {"/environment/args/0", "error", kNothing},
        {"/environment/command/0", "error", kNothing},
        {"/environment/env/KEY", "warning", kNothing},
        {"/resources/gpuType/0", "error", "error"},
        {"/environment/imagePullSecrets/0", "error", "error"},
    };
    for (const Row& row : table) {
        for (const auto& [value, expected] : {std::pair{std::string{"null"}, row.with_null},
                                              {"\"\"", row.with_empty_text},
                                              {"\"  \"", row.with_empty_text}}) {
            const std::string text = document_with(row.pointer, value);
            const std::string from_json = findings_of(parse_json(text));
            const std::string from_yaml = in_yaml(text);
            EXPECT_EQ(from_json.substr(0, from_json.find(' ')), expected)
                << row.pointer << ": " << value << "\n"
                << from_json;
            EXPECT_EQ(from_yaml.substr(0, from_yaml.find(' ')), expected)
                << row.pointer << ": " << value << "\n"
                << from_yaml;
            const std::string at = std::string{row.pointer}.substr(0, 40);
            EXPECT_TRUE(*expected == '\0' || holds(from_json, at)) << from_json;
        }
    }
}

TEST(EmptyValues, are_reported_once_and_with_what_to_do) {
    const std::string head = "kind: training\njob: {name: a}\nenvironment: {image: i}\n";
    EXPECT_EQ(problems_of(head + "resources:\n  cpu: 1\n  memory: 1Gi\n  gpu:\n"),
              "7:3 /resources/gpu resources.gpu is empty; give it a value or leave it out\n");
    EXPECT_EQ(problems_of(head + "resources:\n  cpu:\n  memory: ~\n"),
              "5:3 /resources/cpu resources.cpu is empty; give it a value\n"
              "6:3 /resources/memory resources.memory is empty; give it a value\n");
    EXPECT_EQ(warnings_of(head + "resources: {cpu: 1, memory: 1Gi}\nelastic:\n"),
              "5:1 /elastic elastic is empty and counts as not given\n");
    EXPECT_EQ(warnings_of(with_environment("{image: i, env: {A: , B: ''}}")),
              "3:31 /environment/env/A the variable has no value and will be empty; write \"\" if "
              "that is intended\n");
    EXPECT_TRUE(holds(problems_of(with_environment("{image: i, env: [{name: A, valueFrom: {}}]}")),
                      "valueFrom of A is empty"));
    EXPECT_TRUE(holds(problems_of(with_environment("{image: i, args: [a, , b]}")) +
                          problems_of(with_environment("{image: i, args: [a, ~, b]}")),
                      "environment.args.1 is empty; write \"\" if that is intended"));
}

using config::parse;

TEST(EmptyKeys, of_the_daemons_file_are_errors_but_for_sections_that_are_all_comments) {
    const std::pair<const char*, const char*> errors[] = {
        {"server: {port: }", "server.port is empty"},
        {"server: {tokensFile: }", "server.tokensFile is empty"},
        {"server: {tls: }", "server.tls must not be empty"},
        {"server: {address: ''}", "is not an IP address"},
        {"expert: {server: {requestTimeout: }}", "expert.server.requestTimeout is empty"},
        {"expert: {server: {bodyBytesMax: ''}}", "expert.server.bodyBytesMax is empty"},
        {"server: {metricsRequireToken: }", "server.metricsRequireToken is empty"},
        {"logging: {level: }", "logging.level is empty"},
        {"policy: {pools: }", "policy.pools must not be empty"},
        {"policy: {tenants: }", "policy.tenants must not be empty"},
        {"policy: {maintenance: }", "policy.maintenance must not be empty"},
        {"policy: {defaultTenantGpuMaximum: }", "policy.defaultTenantGpuMaximum is empty"},
        {"policy: {pools: [{name: a, queues: }]}", "policy.pools.0.queues must not be empty"},
        {"policy: {pools: [{name: a, description: }]}", "description must not be empty"},
        {"policy: {pools: [{name: a, queues: [{name: q, maximum: }]}]}",
         "policy.pools.0.queues.0.maximum is empty"},
        {"policy: {pools: [{name: a, queues: [{name: q, queues: }]}]}",
         "queues.0.queues must not be empty"},
        {"policy: {pools: [{name: a, queues: [{name: q, budget: }]}]}", "budget must not be empty"},
        {"policy: {pools: [{name: }]}", "policy.pools.0.name is empty"},
        {"cluster: {embedded: {nodes: }}", "cluster.embedded.nodes must not be empty"},
        {"cluster: {embedded: {nodes: [{name: a, labels: }]}}", "labels must not be empty"},
        {"cluster: {embedded: {nodes: [{name: a, migSlices: }]}}", "migSlices must not be empty"},
        {"names: {unhealthyConditions: [a, ]}\nlogging: {format: }", "logging.format is empty"},
        {"names: {unhealthyConditions: ['']}", "names.unhealthyConditions.0 is empty"},
    };
    for (const auto& [yaml, expected] : errors) {
        const auto config = parse(yaml, "test.yaml");
        ASSERT_FALSE(config) << yaml;
        EXPECT_TRUE(holds(config.error().message, expected))
            << yaml << "\n -> " << config.error().message;
    }
    const auto config =
        parse("server:\n  # port: 1\nlogging: {level: info}\npolicy:\n", "test.yaml");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->warnings,
              (std::vector<std::string>{"test.yaml:1:1: server is empty and counts as not given",
                                        "test.yaml:4:1: policy is empty and counts as not given"}));
}

// Regression: GPUCTLD_SERVER_TOKENS_FILE="$FILE" without FILE disabled the authentication that the
// file configures.
TEST(EmptyVariables, do_not_remove_a_value_of_the_file) {
    const auto config = parse("server: {tokensFile: /t}", "test.yaml",
                              {{"GPUCTLD_SERVER_TOKENS_FILE", ""}, {"GPUCTLD_SERVER_PORT", "1"}});
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->server.tokens_file, "/t");
    ASSERT_EQ(config->warnings.size(), 1u);
    EXPECT_TRUE(holds(config->warnings[0],
                      "environment variable GPUCTLD_SERVER_TOKENS_FILE is set but empty"))
        << config->warnings[0];
    const auto cleared =
        parse("server: {tokensFile: /t}", "test.yaml", {{"GPUCTLD_SERVER_TOKENS_FILE", "''"}});
    EXPECT_EQ(cleared->server.tokens_file, "");
}

}  // namespace
}  // namespace gpuctl::wire
