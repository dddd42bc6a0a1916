// Quotas, namespaces and labels as lists: they have every format and flag of a list.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using nlohmann::json;
using TypedWords = std::vector<std::string>;

constexpr const char* kTwoQuotas =
    R"({"total":2,"items":[{"name":"q","namespace":"team-b","description":"","source":"api",)"
    R"("hard":{"cpu":"16","memory":"unlimited","gpu":"8"},)"
    R"("used":{"cpu":"1","memory":"1Gi","gpu":"2"},"status":"Active","note":""},)"
    R"({"name":"q","namespace":"team-a","description":"tests","source":"file",)"
    R"("hard":{"cpu":"4","memory":"8Gi","gpu":"unlimited"},)"
    R"("used":{"cpu":"0","memory":"0","gpu":"0"},"status":"Active","note":""}]})";

constexpr const char* kLabels =
    R"({"total":2,"items":[{"nodeName":"n2","boundPools":["b"],"labels":[)"
    R"({"key":"runwhere.ai/pool","value":"b"},{"key":"runwhere.ai/zone","value":"z"}]},)"
    R"({"nodeName":"n1","boundPools":["default"],"labels":[]}]})";

CannedServer::Outcome answered(const std::string& body, TypedWords typed) {
    CannedServer server{200, kJson, body};
    CannedServer::Outcome outcome = server.run(std::move(typed));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome;
}

TEST(ListedKinds, quotas_are_sorted_and_printed_in_every_format) {
    EXPECT_EQ(answered(kTwoQuotas, {"get", "quotas", "--sort-by", "NAMESPACE", "--no-headers"}).out,
              "q  team-a  0/4   0/8Gi          0/unlimited  Active\n"
              "q  team-b  1/16  1Gi/unlimited  2/8          Active\n");
    EXPECT_EQ(
        answered(kTwoQuotas, {"get", "quotas", "-o", "columns=NS:.namespace,GPU:.used.gpu"}).out,
        "NS      GPU\nteam-b  2\nteam-a  0\n");
    EXPECT_EQ(answered(kTwoQuotas, {"get", "quotas", "-o", "jsonpath={.items[*].namespace}"}).out,
              "team-b team-a\n");
    const std::string wide = answered(kTwoQuotas, {"get", "quotas", "-o", "wide"}).out;
    EXPECT_NE(wide.find("SOURCE"), std::string::npos) << wide;
    EXPECT_NE(wide.find("tests"), std::string::npos) << wide;
    const std::string csv = answered(kTwoQuotas, {"get", "quotas", "-o", "csv"}).out;
    EXPECT_NE(csv.find("q,team-b,1/16,1Gi/unlimited,2/8,Active"), std::string::npos) << csv;
    EXPECT_EQ(answered(kTwoQuotas, {"get", "quotas", "-o", "name"}).out, "quota/q\n");
}

TEST(ListedKinds, documents_are_the_objects_of_REST_and_json_the_short_form) {
    const json whole = json::parse(answered(kTwoQuotas, {"get", "quotas", "-o", "json"}).out);
    EXPECT_EQ(whole["total"], 2);
    EXPECT_EQ(whole["items"][0]["hard"]["gpu"], "8");
    const json rows = json::parse(answered(kTwoQuotas, {"get", "quotas", "--json"}).out);
    EXPECT_EQ(rows[0]["hard"]["nvidia.com/gpu"], "8");
    const std::string one = json::parse(kTwoQuotas)["items"][0].dump();
    EXPECT_EQ(json::parse(answered(one, {"describe", "quota", "team-b", "-o", "json"}).out),
              json::parse(one));
    EXPECT_EQ(
        json::parse(answered(one, {"describe", "quota", "team-b", "--json"}).out)["hard"]["pods"],
        "unlimited");
}

TEST(ListedKinds, names_of_quotas_and_namespaces_are_read_one_by_one) {
    CannedServer server{200, kJson, R"({"name":"team-a","status":"Active","source":"api"})"};
    const auto outcome = server.run({"get", "ns", "namespace/team-a", "team-b", "--no-headers"});
    EXPECT_EQ(outcome.request_lines, (TypedWords{"GET /api/v1/namespaces/team-a HTTP/1.1",
                                                 "GET /api/v1/namespaces/team-b HTTP/1.1"}));
    EXPECT_EQ(outcome.out, "team-a  Active  N/A\nteam-a  Active  N/A\n");
}

TEST(ListedKinds, labels_of_all_nodes_are_selected_sorted_and_printed_in_every_format) {
    const auto table = answered(kLabels, {"get", "labels", "--sort-by", "NODE"});
    EXPECT_EQ(table.request_line, "GET /api/v1/nodes/labels/all?page=1&pageSize=100 HTTP/1.1");
    EXPECT_EQ(table.out, "NODE  LABELS\nn1    -\nn2    runwhere.ai/pool=b,runwhere.ai/zone=z\n");
    EXPECT_EQ(answered(kLabels, {"get", "label", "-l", "runwhere.ai/zone=z", "-o", "name"}).out,
              "node/n2\n");
    EXPECT_EQ(answered(kLabels, {"get", "node-labels", "--all", "-o", "wide"}).out,
              "NODE  LABELS                                 POOL\n"
              "n2    runwhere.ai/pool=b,runwhere.ai/zone=z  b\n"
              "n1    -                                      default\n");
    EXPECT_EQ(json::parse(answered(kLabels, {"get", "labels", "--json"}).out),
              json::parse(R"([{"node":"n2","label":"runwhere.ai/pool=b"},)"
                          R"({"node":"n2","label":"runwhere.ai/zone=z"}])"));
}

TEST(ListedKinds, the_gpu_type_of_all_nodes_is_a_list_under_each_of_its_spellings) {
    const std::string body =
        R"({"total":1,"items":[{"nodeName":"n1","labelKey":"runwhere.ai/gpu-type",)"
        R"("labelValue":"A100"}]})";
    const std::vector<TypedWords> spellings{{"get", "gpu-type", "--all"},
                                            {"get", "labels", "--key", "gpu-type"},
                                            {"get", "nodes", "--gpu-type", "runwhere.ai/gpu-type"},
                                            {"get", "nodes", "--gpu-type", "gpuType"}};
    for (TypedWords typed : spellings) {
        const auto outcome = answered(body, typed);
        EXPECT_EQ(outcome.request_line.substr(0, 39), "GET /api/v1/nodes/labels?key=gpu-type&p");
        EXPECT_EQ(outcome.out, "NODE  LABEL\nn1    runwhere.ai/gpu-type=A100\n");
        typed.emplace_back("-o");
        typed.emplace_back("csv");
        EXPECT_EQ(answered(body, typed).out, "NODE,LABEL\nn1,runwhere.ai/gpu-type=A100\n");
    }
}

TEST(ListedKinds, labels_of_one_node_have_the_formats_of_lists) {
    const std::string body =
        R"({"nodeName":"n1","prefix":"runwhere.ai","labels":{"runwhere.ai/zone":"z","a":"b"}})";
    EXPECT_EQ(answered(body, {"get", "labels", "n1"}).out,
              "Labels of node n1:\nrunwhere.ai/zone: z\n");
    EXPECT_EQ(answered(body, {"get", "labels", "n1", "-o", "csv"}).out,
              "KEY,VALUE\na,b\nrunwhere.ai/zone,z\n");
    EXPECT_EQ(answered(body, {"get", "labels", "n1", "-o", "wide", "--no-headers"}).out,
              "a: b\nrunwhere.ai/zone: z\n");
}

TEST(ListedKinds, query_pools_takes_what_get_pools_takes) {
    const auto outcome = answered(
        R"({"total":1,"items":[{"name":"p","gpuFree":2}]})",
        {"query", "pools", "--gpu-type", "A100", "--sort-by", ".gpuFree", "-o", "columns=N:.name"});
    EXPECT_EQ(outcome.request_line, "GET /api/v1/pools?gpuType=A100&page=1&pageSize=100 HTTP/1.1");
    EXPECT_EQ(outcome.out, "N\np\n");
}

// Contract: gpu_types is a list of names.
TEST(ListedKinds, the_gpu_types_of_a_pool_are_names_in_the_short_form) {
    const json rows =
        json::parse(answered(R"({"total":1,"items":[{"name":"p","gpuType":{"A100":4,"H100":2}}]})",
                             {"get", "pools", "--json"})
                        .out);
    EXPECT_EQ(rows[0]["gpu_types"], json({"A100", "H100"}));
}

TEST(ListedKinds, nodes_are_selected_by_the_key_of_a_label) {
    const auto outcome = answered(R"({"total":0,"items":[]})", {"get", "nodes", "--label", "zone"});
    EXPECT_NE(outcome.request_line.find("selector=zone"), std::string::npos)
        << outcome.request_line;
}

}  // namespace
}  // namespace gpuctl::cli
