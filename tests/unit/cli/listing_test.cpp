// One listing for every kind: formats, order, selection, watching.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "aio/task_group.hpp"
#include "cli/commands/commands.hpp"
#include "cli/listing/kinds.hpp"
#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using nlohmann::json;

const std::string kPools =
    R"({"total":3,"page":1,"pageSize":100,"items":[)"
    R"({"name":"a","status":"active","gpuTotal":16,"gpuFree":9,"gpuUsed":7,"nodes":["n1"]},)"
    R"({"name":"b","status":"empty","gpuTotal":0,"gpuFree":0,"gpuUsed":0,"nodes":[]},)"
    R"({"name":"c","status":"active","gpuTotal":32,"gpuFree":10,"gpuUsed":22,"nodes":[]}]})";

std::string out_of(const std::vector<std::string>& words, const std::string& body = kPools) {
    CannedServer server{200, kJson, body};
    const auto outcome = server.run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
}

TEST(Listing, documents_are_the_objects_of_rest_and_json_is_the_short_form) {
    const json document = json::parse(out_of({"get", "pools", "-o", "json"}));
    EXPECT_EQ(document["total"], 3);
    EXPECT_FALSE(document.contains("pageSize")) << "all pages are one list";
    EXPECT_EQ(document["items"][0]["gpuFree"], 9);
    const json rows = json::parse(out_of({"get", "pools", "--json"}));
    ASSERT_TRUE(rows.is_array());
    EXPECT_EQ(rows[0]["gpu_free"], 9);
    EXPECT_EQ(out_of({"get", "pools", "-o", "yaml"}).substr(0, 6), "items:");
}

TEST(Listing, one_object_a_line_and_comma_separated_values) {
    std::istringstream lines{out_of({"get", "pools", "-o", "jsonl"})};
    std::string first;
    std::getline(lines, first);
    EXPECT_EQ(json::parse(first)["name"], "a");
    const std::string csv = out_of({"get", "pools", "-o", "csv"});
    EXPECT_EQ(csv.substr(0, csv.find('\n')),
              "POOL NAME,STATUS,GPU TOTAL,GPU USED,GPU FREE,NODE COUNT,RESERVED,MAINTENANCE,FAILED,"
              "GPU TYPES,ORDER,DESCRIPTION");
    const std::string quoted =
        out_of({"get", "pools", "-o", "csv", "--no-headers"},
               R"({"total":1,"items":[{"name":"a","description":"GPUs, \"fast\""}]})");
    EXPECT_NE(quoted.find(R"("GPUs, ""fast""")"), std::string::npos) << quoted;
    EXPECT_EQ(quoted.find("POOL NAME"), std::string::npos);
}

TEST(Listing, templates_and_columns_of_ones_own) {
    EXPECT_EQ(out_of({"get", "pools", "-o", "jsonpath={.items[*].name}"}), "a b c\n");
    EXPECT_EQ(out_of({"get", "pools", "-o", "columns=POOL:.name,LEFT:.gpuFree,X:.none"}),
              "POOL  LEFT  X\na     9     <none>\nb     0     <none>\nc     10    <none>\n");
    EXPECT_EQ(out_of({"get", "pools", "-o", "columns=POOL:.name", "--no-headers"}), "a\nb\nc\n");
}

TEST(Listing, is_sorted_by_a_column_or_a_path_and_numbers_by_size) {
    EXPECT_EQ(out_of({"get", "pools", "--sort-by", "gpu-free", "-o", "name"}),
              "pool/b\npool/a\npool/c\n");
    EXPECT_EQ(out_of({"get", "pools", "--sort-by", ".gpuTotal", "-o", "name"}),
              "pool/b\npool/a\npool/c\n");
    EXPECT_EQ(out_of({"get", "pools", "--sort-by", "status", "-o", "name"}),
              "pool/a\npool/c\npool/b\n");
}

TEST(Listing, mistakes_are_refused_before_any_request) {
    using Words = std::vector<std::string>;
    const std::pair<Words, std::string> rows[] = {
        {{"--sort-by", "gpus"}, "pools have no such column; they have POOL NAME, STATUS"},
        {{"--sort-by", ".a["}, "cannot be read"},
        {{"-o", "jsonpath={.a"}, "a } is missing"},
        {{"-o", "columns=NAME"}, "write TITLE:PATH"},
        {{"-w", "-o", "yaml"}, "--watch prints rows"},
    };
    for (const auto& [flags, says] : rows) {
        CannedServer server{200, kJson, kPools};
        Words words{"get", "pools"};
        words.insert(words.end(), flags.begin(), flags.end());
        const auto outcome = server.run(words);
        EXPECT_EQ(outcome.exit_code, 2) << flags[0];
        EXPECT_EQ(outcome.request_line, "") << flags[0];
        const std::string said = outcome.out + outcome.err;  // of a document on stdout
        EXPECT_NE(said.find(says), std::string::npos) << said;
    }
}

TEST(Listing, color_is_for_the_status_only_and_off_outside_of_a_terminal) {
    EXPECT_EQ(out_of({"get", "pools"}).find('\x1b'), std::string::npos);
    const std::string colored = out_of({"get", "pools", "--color", "always"});
    EXPECT_NE(colored.find("\x1b[32mactive\x1b[0m"), std::string::npos) << colored;
    EXPECT_NE(colored.find("\x1b[33mempty\x1b[0m"), std::string::npos) << colored;
    EXPECT_EQ(out_of({"get", "pools", "--color", "never"}), out_of({"get", "pools"}));
}

TEST(Listing, jobs_are_selected_by_the_labels_that_gpuctl_gives_them) {
    const std::string jobs =
        R"({"total":2,"items":[{"name":"x","jobId":"x-0","namespace":"t","priority":"high",)"
        R"("pool":"a"},{"name":"y","jobId":"y-0","namespace":"t","priority":"low","pool":"b"}]})";
    EXPECT_EQ(out_of({"get", "jobs", "-l", "runwhere.ai/priority=high", "-o", "name"}, jobs),
              "job/t/x\n");
    EXPECT_EQ(out_of({"get", "jobs", "-l", "runwhere.ai/pool notin (a)", "-o", "name"}, jobs),
              "job/t/y\n");
    EXPECT_EQ(out_of({"get", "jobs", "-l", "priority!=high,pool", "-o", "name"}, jobs),
              "job/t/y\n");
    CannedServer server{200, kJson, jobs};
    const auto outcome = server.run({"get", "nodes", "-l", "zone=a"});
    EXPECT_NE(outcome.request_line.find("selector=zone%3Da"), std::string::npos)
        << outcome.request_line;
}

TEST(Watch, reports_what_is_new_what_differs_and_what_is_gone) {
    const ListedKind& kind = listed_kind("jobs");
    const auto job = [](const char* id, const char* status, const char* age) {
        return json{
            {"namespace", "t"}, {"name", id}, {"jobId", id}, {"status", status}, {"age", age}};
    };
    const json before = {job("a", "Pending", "1s"), job("b", "Running", "1s"),
                         job("c", "Running", "1s")};
    const json after = {job("a", "Running", "3s"), job("b", "Running", "3s"),
                        job("d", "Pending", "0s")};
    const json changed = changed_items(kind, before, after);
    ASSERT_EQ(changed.size(), 3U) << changed.dump();
    EXPECT_EQ(changed[0]["name"], "a");
    EXPECT_EQ(changed[1]["name"], "d");
    EXPECT_EQ(changed[2]["name"], "c");
    EXPECT_EQ(changed[2]["status"], "Deleted");
    EXPECT_TRUE(changed_items(kind, after, after).empty()) << "an age alone is no change";
}

// Ends with the first error that does not pass by itself.
TEST(Watch, prints_a_header_once_and_then_only_rows_that_changed) {
    const auto list = [](const std::string& status) {
        return R"({"total":1,"items":[{"name":"pool-a","status":")" + status + R"("}]})";
    };
    CannedServer server{
        std::vector<CannedServer::Answer>{{200, list("active")},
                                          {200, list("active")},
                                          {200, list("maintaining")},
                                          {403, R"({"error":"Forbidden","message":"no more"})"}}};
    ConnectionOptions where;
    where.server = "http://127.0.0.1:" + std::to_string(server.port());
    GetOptions options;
    options.kind = "pools";
    options.watch = true;
    options.watch_interval = std::chrono::milliseconds{1};
    options.output.format = Format::columns;
    options.output.expression = "NAME:.name,STATUS:.status";
    aio::Loop loop;
    auto connection = Connection::open(loop, where);
    ASSERT_TRUE(connection);
    int exit_code = -1;
    aio::TaskGroup tasks{loop};
    const auto watch = [](Connection& to, GetOptions how, int& code,
                          aio::Loop& until) -> aio::Task<void> {
        code = co_await run_get(to, std::move(how));
        until.stop();
    };
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    tasks.spawn("watch", watch(**connection, options, exit_code, loop));
    loop.run();
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "NAME    STATUS\npool-a  active\npool-a  maintaining\n");
    EXPECT_NE(testing::internal::GetCapturedStderr().find("no more"), std::string::npos);
    EXPECT_EQ(exit_code, 5);
}

}  // namespace
}  // namespace gpuctl::cli
