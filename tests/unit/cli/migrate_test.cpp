// Labels of earlier products under their present names.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/migrate/label_moves.hpp"
#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

std::vector<std::string> moves_of(const nlohmann::json& labels) {
    std::vector<std::string> lines;
    for (const LabelMove& move : plan_label_moves("n1", labels, "runwhere.ai")) {
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

TEST(Migrate, a_cluster_without_nodes_has_nothing_to_migrate) {
    CannedServer server{200, "application/json", R"({"items":[],"total":0})"};
    const auto outcome = server.run({"migrate", "--dry-run", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "GET /api/v1/nodes?page=1&pageSize=100 HTTP/1.1");
    EXPECT_EQ(nlohmann::json::parse(outcome.out), nlohmann::json::array());
}

const std::vector<CannedServer::Answer> kOneNode = {
    {200, R"({"items":[{"nodeName":"n1"}],"total":1})"},
    {200, R"({"node":"n1","prefix":"runwhere.ai","labels":{"g8s.host/pool":"a"}})"},
    {200, R"({"message":"node n1 has the label runwhere.ai/pool=a"})"}};

TEST(Migrate, a_dry_run_writes_nothing) {
    CannedServer server{kOneNode};
    const auto outcome = server.run({"migrate", "--dry-run"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_lines.size(), 2u);
    EXPECT_NE(outcome.out.find("add"), std::string::npos) << outcome.out;
}

TEST(Migrate, what_is_missing_is_added_without_overwriting) {
    CannedServer server{kOneNode};
    const auto outcome = server.run({"migrate", "-o", "json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(outcome.request_lines.size(), 3u);
    EXPECT_EQ(outcome.request_lines[2], "POST /api/v1/nodes/n1/labels HTTP/1.1");
    EXPECT_EQ(nlohmann::json::parse(outcome.out)[0]["action"], "added");
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

}  // namespace
}  // namespace gpuctl::cli
