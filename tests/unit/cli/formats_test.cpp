// Every command supports the formats that its `-o` offers, and refuses all others.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/grammar.hpp"
#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

const std::string kProblem = "application/problem+json";

std::string job_file() {
    const std::string file = testing::TempDir() + "formats_test.yaml";
    std::ofstream{file} << "kind: training\njob: {name: llm}\n";
    return file;
}

const std::string kCreated =
    R"({"kind":"training","namespace":"team-a","jobId":"llm","status":"pending"})";

TEST(Formats, of_create_and_delete_have_names_that_can_be_typed) {
    CannedServer server{201, kJson, kCreated};
    const auto created = server.run({"create", "-f", job_file(), "-o", "name"});
    EXPECT_EQ(created.exit_code, 0) << created.err;
    EXPECT_EQ(created.out, "job/team-a/llm\n");
    CannedServer again{200, kJson, kCreated};
    const auto deleted = again.run({"delete", "-f", job_file(), "-o", "name"});
    EXPECT_EQ(deleted.exit_code, 0) << deleted.err;
    EXPECT_EQ(deleted.out, "job/team-a/llm\n");
}

TEST(Formats, delete_says_once_which_job_it_is) {
    CannedServer server{200, kJson, R"({"message":"job team-a/llm is being deleted"})"};
    EXPECT_EQ(server.run({"delete", "job", "llm"}).out, "job team-a/llm is being deleted\n");
}

TEST(Formats, delete_answers_in_yaml) {
    CannedServer server{200, kJson, kCreated};
    const auto outcome = server.run({"delete", "job", "llm", "-o", "yaml"});
    EXPECT_EQ(outcome.out, "force: false\njob_name: llm\nmessage: \"\"\nstatus: success\n");
}

TEST(Formats, yaml_holds_the_error_as_json_does) {
    const std::string body = R"({"error":"JobNotFound","message":"there is no job llm"})";
    CannedServer server{404, kProblem, body};
    const auto created = server.run({"create", "-f", job_file(), "-o", "yaml"});
    EXPECT_EQ(created.exit_code, 3);
    EXPECT_NE(created.out.find("- code: JobNotFound\n"), std::string::npos) << created.out;
    CannedServer again{404, kProblem, body};
    const auto deleted = again.run({"delete", "job", "llm", "-o", "yaml"});
    EXPECT_NE(deleted.out.find("job_name: llm\n"), std::string::npos) << deleted.out;
    CannedServer third{404, kProblem, body};
    const auto described = third.run({"describe", "job", "llm", "-o", "yaml"});
    EXPECT_EQ(described.out,
              "code: JobNotFound\nerror: JobNotFound\nmessage: there is no job llm\n");
}

TEST(Formats, one_json_document_holds_unreadable_files_too) {
    for (const char* verb : {"what-if", "delete"}) {
        CannedServer server{200, kJson, kCreated};
        const auto outcome = server.run({verb, "-f", "/tmp", job_file(), "--json"});
        const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
        ASSERT_TRUE(document.is_array()) << verb << ": " << outcome.out;
        EXPECT_EQ(document.size(), 2U);
        EXPECT_EQ(document[0]["subject"], "/tmp");
    }
}

TEST(Formats, that_a_command_cannot_print_are_refused_with_the_supported_ones) {
    using Words = std::vector<std::string>;
    for (const Words& words :
         {Words{"create", "-f", "x", "-o", "wide"}, Words{"delete", "job", "x", "-o", "wide"},
          Words{"describe", "job", "x", "-o", "name"}, Words{"explain", "job", "x", "-o", "name"},
          Words{"version", "-o", "name"}, Words{"what-if", "-f", "x", "-o", "wide"},
          Words{"preview", "--config", "x", "-o", "name"}}) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 2) << words[0];
        EXPECT_EQ(outcome.request_line, "") << words[0];
        EXPECT_NE(outcome.err.find("is not one of table, json"), std::string::npos) << outcome.err;
    }
}

TEST(Formats, of_documents_have_the_errors_of_the_command_line) {
    using Words = std::vector<std::string>;
    for (const Words& words :
         {Words{"get", "jobs", "--json", "--kind", "nosuch"},
          Words{"get", "jobs", "--kind=nosuch", "-o", "json"},
          Words{"get", "jobs", "--kind", "nosuch", "-ojson"},
          Words{"get", "jobs", "--kind", "nosuch", "--output=json"}, Words{"delete", "--json"},
          Words{"create", "--json"}, Words{"logs", "x", "--json", "--tail", "0"},
          Words{"get", "jobs", "--json", "--bogus"}, Words{"get", "--json"},
          Words{"get", "poolz", "--json"}, Words{"--json"}, Words{"replay", "--json"},
          Words{"delete", "job", "a/b", "-n", "c", "--json"}}) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 2) << words[0];
        EXPECT_EQ(outcome.request_line, "") << words[0];
        const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
        ASSERT_TRUE(document.is_object()) << words[0] << ": " << outcome.out;
        EXPECT_EQ(document["code"], "BadRequest");
        EXPECT_NE(document["message"], "");
        EXPECT_EQ(outcome.err, "");
    }
    CannedServer server{200, kJson, "{}"};
    const auto yaml = server.run({"get", "poolz", "-o", "yaml"});
    EXPECT_EQ(yaml.out,
              "code: BadRequest\nerror: BadRequest\n"
              "message: \"`gpuctl get` has no kind `poolz`; did you mean `pools`? See `gpuctl get "
              "--help`.\"\n");
}

TEST(Formats, of_help_stay_text) {
    CannedServer server{200, kJson, "{}"};
    const auto outcome = server.run({"get", "jobs", "--json", "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.out.find("Usage: gpuctl get jobs"), std::string::npos) << outcome.out;
}

// "get jobs" and so on: the words of a complete command.
void for_every_leaf(const CLI::App& command, const std::string& path,
                    const std::function<void(const CLI::App&, const std::string&)>& check) {
    const auto children = command.get_subcommands([](const CLI::App*) { return true; });
    if (children.empty() || command.get_require_subcommand_min() == 0) check(command, path);
    for (const CLI::App* child : children) {
        for_every_leaf(*child, path + " " + child->get_name(), check);
    }
}

TEST(Formats, json_is_one_of_every_command) {
    CommandLine line;
    int leaves = 0;
    for_every_leaf(*build(line), "gpuctl", [&](const CLI::App& command, const std::string& path) {
        ++leaves;
        if (path == "gpuctl completion") return;  // prints a script
        // What they print is that of the container.
        const std::string verb = path.substr(path.find(' ') + 1);
        if (std::set<std::string>{"exec", "attach", "cp", "port-forward", "run"}.contains(verb))
            return;
        EXPECT_NE(command.get_option_no_throw("--json"), nullptr) << path;
        EXPECT_NE(command.get_option_no_throw("--output"), nullptr) << path;
    });
    EXPECT_GT(leaves, 10);
}

TEST(Formats, explain_yaml_prints_a_key_and_its_members_as_a_document) {
    CannedServer server{200, kJson, "{}"};
    const auto outcome = server.run({"explain-yaml", "inference.service", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto body = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(body["kind"], "inference");
    EXPECT_EQ(body["key"]["path"], "service");
    const auto port = std::find_if(body["members"].begin(), body["members"].end(),
                                   [](const auto& row) { return row["path"] == "service.port"; });
    ASSERT_NE(port, body["members"].end());
    EXPECT_EQ((*port)["maximum"], 65'535);
    EXPECT_TRUE(outcome.request_lines.empty()) << "needs no server";
}

TEST(Formats, replay_that_cannot_run_says_so_in_its_document) {
    for (const std::vector<std::string>& format :
         {std::vector<std::string>{"--json"}, {"-o", "json"}}) {
        CannedServer server{200, kJson, "{}"};
        std::vector<std::string> words{"replay", "/nowhere"};
        words.insert(words.end(), format.begin(), format.end());
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 1);  // the program is not installed next to the tests
        const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
        ASSERT_TRUE(document.is_object()) << outcome.out << outcome.err;
        EXPECT_EQ(document["code"], "Internal");
    }
}

TEST(Formats, wide_of_jobs_shows_the_gpus_of_all_ranks_of_a_job_and_of_each_pod_its_own) {
    CannedServer server{
        200, kJson,
        R"({"items":[{"jobId":"llm","name":"llm","gpu":8,"gpuTotal":24},)"
        R"({"jobId":"llm-0","name":"llm","gpu":8}],"total":2,"page":1,"pageSize":100})"};
    const auto outcome = server.run({"get", "jobs", "-o", "wide"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::istringstream words{outcome.out};
    std::vector<std::string> shown;
    for (std::string word; words >> word;) {
        if (word == "24" || word == "8") shown.push_back(word);
    }
    EXPECT_EQ(shown, (std::vector<std::string>{"24", "8"})) << outcome.out;
}

const std::string kNode =
    R"({"total":1,"items":[{"nodeName":"n1","status":"active","gpuTotal":8,"gpuUsed":4,)"
    R"("gpuFree":4,"gpuType":"A100","ip":"10.0.0.1","pool":"training","slices":[],)"
    R"("note":"reservation exam from 2026-11-23T08:00:00Z",)"
    R"("gpuStates":{"available":1,"allocated":4,"reserved":2,"maintenance":0,"failed":1},)"
    R"("cpu":"64","memory":"512Gi","topology":{"rack":"r1","block":"b1"}}]})";

TEST(Formats, wide_of_nodes_shows_the_states_of_their_gpus_and_other_resources) {
    CannedServer server{200, kJson, kNode};
    const auto outcome = server.run({"get", "nodes", "-o", "wide"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "NODE NAME  STATUS  GPU TOTAL  GPU USED  GPU FREE  GPU TYPE  IP        POOL      "
              "RESERVED  MAINTENANCE  FAILED  CPU  MEMORY  TOPOLOGY           NOTE\n"
              "n1         active  8          4         4         A100      10.0.0.1  training  "
              "2         0            1       64   512Gi   block b1, rack r1  "
              "reservation exam from 2026-11-23T08:00:00Z\n");
    CannedServer again{200, kJson, kNode};
    const auto json = again.run({"get", "nodes", "--json"});
    EXPECT_EQ(nlohmann::json::parse(json.out)[0]["gpu_states"]["reserved"], 2) << json.out;
}

TEST(Formats, wide_of_one_object_equals_its_full_description) {
    for (const char* kind : {"job", "pool", "node"}) {
        CannedServer server{200, kJson, R"({"name":"x"})"};
        const auto plain = server.run({"describe", kind, "x"});
        CannedServer again{200, kJson, R"({"name":"x"})"};
        const auto wide = again.run({"describe", kind, "x", "-o", "wide"});
        EXPECT_EQ(wide.exit_code, 0) << wide.err;
        EXPECT_EQ(wide.out, plain.out);
        EXPECT_NE(wide.out, "");
    }
}

}  // namespace
}  // namespace gpuctl::cli
