// The commands about nodes and their labels.

#include "cli/nodes/nodes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

NodeOptions words(std::vector<std::string> of, bool deletes = false) {
    NodeOptions options;
    options.words = std::move(of);
    options.deletes = deletes;
    return options;
}

const std::string kProblem = "application/problem+json";
const std::string kLabelled =
    R"({"nodeName":"n1","node":"n1","label":{"key":"runwhere.ai/gpu-type","value":"a100"},)"
    R"("message":"node n1 has the label runwhere.ai/gpu-type=a100","warnings":[]})";

// A server gives one answer to one command.
CannedServer::Outcome run(const std::string& body, std::vector<std::string> typed) {
    CannedServer server{200, "application/json", body};
    return server.run(std::move(typed));
}

TEST(Acceptance, J3_a_label_is_found_in_any_place_among_the_nodes) {
    for (const auto& typed : std::vector<std::vector<std::string>>{
             {"n1", "n2", "k=v"}, {"node", "n1", "n2", "k=v"}, {"node", "k=v", "n1", "n2"}}) {
        NodeOptions options = words(typed);
        ASSERT_TRUE(read_label_words(options));
        EXPECT_EQ(options.label, "k=v");
        EXPECT_EQ(options.nodes, (std::vector<std::string>{"n1", "n2"}));
    }
    NodeOptions key = words({"node", "n1", "zone"}, true);
    ASSERT_TRUE(read_label_words(key));
    EXPECT_EQ(key.label, "zone");
    EXPECT_EQ(key.nodes, std::vector<std::string>{"n1"});
}

TEST(Acceptance, J6_words_without_one_label_and_a_node_are_refused) {
    for (const auto& typed : std::vector<std::vector<std::string>>{
             {"n1", "k"}, {"k=v"}, {"node", "k=v"}, {"n1", "k=v", "l=w"}, {"node"}}) {
        NodeOptions options = words(typed);
        EXPECT_FALSE(read_label_words(options)) << typed.front();
    }
    NodeOptions both = words({"n1", "k=v"}, true);
    EXPECT_FALSE(read_label_words(both)) << "--delete takes a key";
    CannedServer server{200, "application/json", "{}"};
    const auto outcome = server.run({"label", "n1", "k"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.request_line, "");
    CannedServer nowhere{404, kProblem, R"({"error":"NodeNotFound","message":"no node n9"})"};
    EXPECT_NE(nowhere.run({"label", "n9", "k=v"}).exit_code, 0);
}

TEST(Acceptance, J1_label_sends_one_request_a_node) {
    CannedServer server{200, "application/json", kLabelled};
    const auto outcome = server.run({"label", "n1", "gpuType=a100"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "POST /api/v1/nodes/n1/labels HTTP/1.1");
    EXPECT_EQ(outcome.out, "node n1 has the label runwhere.ai/gpu-type=a100\n");
}

TEST(Acceptance, J7_label_as_json_has_a_row_a_node) {
    CannedServer server{200, "application/json", kLabelled};
    const auto outcome = server.run({"label", "node", "gpuType=a100", "n1", "--json"});
    const Json rows = Json::parse(outcome.out);
    ASSERT_EQ(rows.size(), 1u) << outcome.out;
    EXPECT_EQ(rows[0]["node"], "n1");
    EXPECT_EQ(rows[0]["operation"], "add");
    EXPECT_EQ(rows[0]["label"], "runwhere.ai/gpu-type=a100");
    EXPECT_EQ(rows[0]["success"], true);
    EXPECT_FALSE(rows[0]["message"].get<std::string>().empty());
}

TEST(Acceptance, J5_label_delete_removes_a_key) {
    CannedServer server{200, "application/json",
                        R"({"nodeName":"n1","label":"runwhere.ai/zone","message":"gone"})"};
    const auto outcome = server.run({"label", "n1", "zone", "--delete", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.request_line, "DELETE /api/v1/nodes/n1/labels/zone HTTP/1.1");
    EXPECT_EQ(Json::parse(outcome.out)[0]["operation"], "delete");
    EXPECT_EQ(Json::parse(outcome.out)[0]["label"], "zone");
}

TEST(Label, a_conflict_names_the_node_and_has_the_exit_code_of_a_conflict) {
    CannedServer server{409, kProblem, R"({"error":"LabelConflict","message":"it is b"})"};
    const auto outcome = server.run({"label", "n1", "k=a"});
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_NE(outcome.err.find("it is b"), std::string::npos);
}

TEST(Acceptance, E15_get_labels_of_a_node_of_one_key_and_of_all) {
    CannedServer one{200, "application/json",
                     R"({"node":"n1","prefix":"runwhere.ai","labels":{"runwhere.ai/pool":"p",)"
                     R"("kubernetes.io/hostname":"n1"}})"};
    const auto text = one.run({"get", "labels", "n1"});
    EXPECT_EQ(text.out, "Labels of node n1:\nrunwhere.ai/pool: p\n") << "only those of gpuctl";
    const std::string labels = R"({"node":"n1","labels":{"a/b":"c","d/e":"f"}})";
    EXPECT_EQ(Json::parse(run(labels, {"get", "labels", "n1", "--json"}).out).size(), 2u);
    CannedServer keyed{200, "application/json",
                       R"({"nodeName":"n1","label":{"key":"runwhere.ai/pool","value":"p"}})"};
    const auto key = keyed.run({"get", "label", "n1", "--key=pool"});
    EXPECT_EQ(key.request_line, "GET /api/v1/nodes/n1/labels/pool HTTP/1.1");
    EXPECT_EQ(key.out, "runwhere.ai/pool: p\n");
    const std::string all =
        R"({"total":1,"items":[{"nodeName":"n1","labels":[{"key":"a/b","value":"c"},)"
        R"({"key":"a/d","value":"e"}]}]})";
    const auto rows = run(all, {"get", "node-labels", "--all"});
    EXPECT_EQ(rows.out, "NODE  LABELS\nn1    a/b=c,a/d=e\n");
    EXPECT_EQ(Json::parse(run(all, {"get", "labels", "--json"}).out),
              Json::parse(R"([{"node":"n1","label":"a/b=c"},{"node":"n1","label":"a/d=e"}])"));
}

TEST(GetNodes, the_label_of_gpu_types_as_a_gpu_type_lists_its_values) {
    const std::string list =
        R"({"total":1,"items":[{"nodeName":"n1","labelKey":"runwhere.ai/gpu-type",)"
        R"("labelValue":"a100"}]})";
    for (const char* type : {"gpu-type", "gpuType", "runwhere.ai/gpu-type"}) {
        const auto outcome = run(list, {"get", "nodes", "--gpu-type", type});
        EXPECT_EQ(outcome.out, "NODE  LABEL\nn1    runwhere.ai/gpu-type=a100\n") << type;
        EXPECT_EQ(outcome.request_line,
                  "GET /api/v1/nodes/labels?key=gpu-type&page=1&pageSize=100 HTTP/1.1");
    }
}

TEST(NodePools, add_and_remove_name_the_pool) {
    const std::string done = R"({"message":"done"})";
    const auto added = run(done, {"add", "node", "n1", "--pool", "training"});
    EXPECT_EQ(added.exit_code, 0) << added.err;
    EXPECT_EQ(added.request_line, "POST /api/v1/nodes/n1/pools HTTP/1.1");
    const auto removed = run(done, {"remove", "node", "n1", "--pool", "training", "--json"});
    EXPECT_EQ(removed.request_line, "DELETE /api/v1/nodes/n1/pools/training HTTP/1.1");
    EXPECT_EQ(Json::parse(removed.out)[0]["pool"], "training");
    EXPECT_EQ(run(done, {"add", "node", "n1"}).exit_code, 2) << "without a pool";
}

TEST(NodePools, a_cordon_and_a_drain_are_one_request_a_node) {
    const std::string done = R"({"message":"done"})";
    EXPECT_EQ(run(done, {"cordon", "n1"}).request_line, "POST /api/v1/nodes/n1/cordon HTTP/1.1");
    EXPECT_EQ(run(done, {"uncordon", "node", "n1"}).request_line,
              "POST /api/v1/nodes/n1/uncordon HTTP/1.1");
    EXPECT_EQ(run(done, {"drain", "node", "n1"}).request_line,
              "POST /api/v1/nodes/n1/drain HTTP/1.1");
}

}  // namespace
}  // namespace gpuctl::cli
