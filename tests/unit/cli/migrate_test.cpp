// Labels of earlier products under their present names.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/migrate/label_moves.hpp"
#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

std::vector<std::string> moves_of(const nlohmann::json& labels, bool removes_old = false) {
    std::vector<std::string> lines;
    for (const LabelMove& move : plan_label_moves("n1", labels, "runwhere.ai", removes_old)) {
        lines.push_back(move.from + " -> " + move.to + "=" + move.value + " " + move.action);
    }
    return lines;
}

TEST(Migrate, only_labels_of_earlier_products_are_copied_to_the_present_prefix) {
    const nlohmann::json labels = {{"g8s.host/gpuType", "A100"},
                                   {"gpuctl/pool", "training"},
                                   {"runwhere.ai/zone", "a"},
                                   {"kubernetes.io/hostname", "n1"},
                                   {"company.com/x", "y"}};
    EXPECT_EQ(moves_of(labels),
              (std::vector<std::string>{"g8s.host/gpuType -> runwhere.ai/gpu-type=A100 add",
                                        "gpuctl/pool -> runwhere.ai/pool=training add"}));
}

TEST(Migrate, a_label_that_is_there_is_never_changed) {
    EXPECT_EQ(moves_of({{"g8s.host/pool", "a"}, {"runwhere.ai/pool", "a"}}),
              std::vector<std::string>{"g8s.host/pool -> runwhere.ai/pool=a present"});
    EXPECT_EQ(moves_of({{"g8s.host/pool", "a"}, {"runwhere.ai/pool", "b"}}),
              std::vector<std::string>{"g8s.host/pool -> runwhere.ai/pool=a differs"});
}

TEST(Migrate, of_two_old_labels_with_one_new_name_one_is_added) {
    EXPECT_EQ(moves_of({{"g8s.host/pool", "a"}, {"gpuctl/pool", "b"}}),
              (std::vector<std::string>{"g8s.host/pool -> runwhere.ai/pool=a add",
                                        "gpuctl/pool -> runwhere.ai/pool=b differs"}));
}

TEST(Migrate, an_old_label_is_removed_only_where_the_present_one_has_its_value) {
    EXPECT_EQ(moves_of({{"g8s.host/pool", "a"}, {"gpuctl/pool", "b"}}, true),
              (std::vector<std::string>{"g8s.host/pool -> runwhere.ai/pool=a add",
                                        "g8s.host/pool -> runwhere.ai/pool=a remove",
                                        "gpuctl/pool -> runwhere.ai/pool=b differs"}));
}

const std::string kNoObjects = R"({"items":[],"more":false})";

TEST(Migrate, a_cluster_without_nodes_has_nothing_to_migrate) {
    CannedServer server{{{200, R"({"items":[],"total":0})"}, {200, kNoObjects}}};
    const auto outcome = server.run({"migrate", "--dry-run", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "GET /api/v1/nodes?page=1&pageSize=100 HTTP/1.1");
    EXPECT_EQ(nlohmann::json::parse(outcome.out), nlohmann::json::array());
}

const std::vector<CannedServer::Answer> kOneNode = {
    {200, R"({"items":[{"nodeName":"n1"}],"total":1})"},
    {200, R"({"node":"n1","prefix":"runwhere.ai","labels":{"g8s.host/pool":"a"}})"},
    {200, R"({"message":"node n1 has the label runwhere.ai/pool=a"})"},
    {200, kNoObjects}};

TEST(Migrate, a_dry_run_writes_nothing) {
    CannedServer server{{kOneNode[0], kOneNode[1], kOneNode[3]}};
    const auto outcome = server.run({"migrate", "--dry-run"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(outcome.request_lines.size(), 3u);
    EXPECT_EQ(outcome.request_lines[2],
              "POST /api/v1/labels/migrate?dryRun=true&removeOld=false HTTP/1.1");
    EXPECT_NE(outcome.out.find("add"), std::string::npos) << outcome.out;
}

TEST(Migrate, what_is_missing_is_added_without_overwriting) {
    CannedServer server{kOneNode};
    const auto outcome = server.run({"migrate", "-o", "json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(outcome.request_lines.size(), 4u);
    EXPECT_EQ(outcome.request_lines[2], "POST /api/v1/nodes/n1/labels HTTP/1.1");
    const nlohmann::json rows = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(rows[0]["action"], "added");
    EXPECT_EQ(rows[0]["node"], "n1");
}

TEST(Migrate, a_refused_label_is_reported_and_fails) {
    std::vector<CannedServer::Answer> answers = kOneNode;
    answers[2] = {403, R"({"error":"Forbidden","message":"needs the role admin"})"};
    CannedServer server{answers};
    const auto outcome = server.run({"migrate"});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_NE(outcome.err.find("needs the role admin"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.out.find("failed"), std::string::npos) << outcome.out;
}

TEST(Migrate, an_old_label_stays_where_the_present_one_could_not_be_added) {
    std::vector<CannedServer::Answer> answers = kOneNode;
    answers[2] = {403, R"({"error":"Forbidden","message":"needs the role admin"})"};
    CannedServer server{answers};
    const auto outcome = server.run({"migrate", "--remove-old", "-o", "json"});
    EXPECT_NE(outcome.exit_code, 0);
    for (const std::string& line : outcome.request_lines) {
        EXPECT_FALSE(line.starts_with("DELETE")) << line;
    }
    EXPECT_EQ(nlohmann::json::parse(outcome.out)[1]["action"], "kept");
}

TEST(Migrate, the_old_label_of_a_node_is_removed_by_the_name_that_it_has) {
    std::vector<CannedServer::Answer> answers = kOneNode;
    answers.insert(answers.begin() + 3, {200, R"({"message":"gone"})"});
    CannedServer server{answers};
    const auto outcome = server.run({"migrate", "--remove-old"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(outcome.request_lines.size(), 5u);
    EXPECT_EQ(outcome.request_lines[3],
              "DELETE /api/v1/nodes/n1/labels/g8s.host/pool?asWritten=true HTTP/1.1");
}

TEST(Migrate, objects_are_changed_until_no_more_are_left_and_each_is_shown_once) {
    const std::string first =
        R"({"more":true,"items":[{"kind":"Job","namespace":"a","name":"x","from":"gpuctl/pool",)"
        R"("to":"runwhere.ai/pool","value":"p","action":"added"}]})";
    const std::string rest =
        R"({"more":false,"items":[{"kind":"Job","namespace":"a","name":"x","from":"gpuctl/pool",)"
        R"("to":"runwhere.ai/pool","value":"p","action":"present"},{"kind":"Pod","namespace":"a",)"
        R"("name":"y","from":"gpuctl/pool","to":"runwhere.ai/pool","value":"p",)"
        R"("action":"failed","message":"conflict"}]})";
    CannedServer server{{{200, R"({"items":[],"total":0})"}, {200, first}, {200, rest}}};
    const auto outcome = server.run({"migrate"});
    EXPECT_EQ(outcome.request_lines.size(), 3u);
    EXPECT_NE(outcome.out.find("Job a/x"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("present"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.err.find("Pod a/y: conflict"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.exit_code, 0) << "a part failed";
}

}  // namespace
}  // namespace gpuctl::cli
