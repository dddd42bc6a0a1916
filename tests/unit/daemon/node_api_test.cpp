// Labels, pools, cordons and drains of nodes over REST.

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

constexpr const char* kJsonType = "application/json";

aio::Task<void> label_one_node(Daemon& daemon) {
    const std::string base = "/api/v1/nodes/plain-0/labels";
    net::HttpResponse made =
        co_await daemon.call("POST", base, R"({"key":"gpuModel","value":"t4"})", kJsonType);
    EXPECT_EQ(made.status, 200) << made.body;
    EXPECT_EQ(parsed(made)["label"]["key"], "runwhere.ai/gpu-model");
    EXPECT_EQ(parsed(made)["label"]["value"], "t4");
    net::HttpResponse all = co_await daemon.get(base);
    EXPECT_EQ(parsed(all)["node"], "plain-0");
    EXPECT_EQ(parsed(all)["labels"]["runwhere.ai/gpu-model"], "t4") << "fresh after the answer";
    const std::vector<std::string> paths{"/runwhere.ai/gpu-model", "/runwhere.ai%2Fgpu-model",
                                         "/gpuModel"};
    for (const std::string& path : paths) {
        net::HttpResponse one = co_await daemon.get(base + path);
        EXPECT_EQ(one.status, 200) << path << one.body;
        EXPECT_EQ(parsed(one)["label"]["key"], "runwhere.ai/gpu-model") << path;
        EXPECT_EQ(parsed(one)["label"]["value"], "t4") << path;
    }
    net::HttpResponse again =
        co_await daemon.call("POST", base, R"({"key":"gpuModel","value":"t4"})", kJsonType);
    EXPECT_EQ(again.status, 200) << "the same value: " << again.body;
    net::HttpResponse other =
        co_await daemon.call("POST", base, R"({"key":"gpuModel","value":"l4"})", kJsonType);
    EXPECT_EQ(other.status, 409);
    EXPECT_EQ(error_code(other), "LabelConflict");
    net::HttpResponse forced = co_await daemon.call(
        "POST", base, R"({"key":"gpuModel","value":"l4","overwrite":true})", kJsonType);
    EXPECT_EQ(forced.status, 200) << forced.body;
    net::HttpResponse put = co_await daemon.call("PUT", base + "/runwhere.ai/gpu-model",
                                                 R"({"value":"a10"})", kJsonType);
    EXPECT_EQ(put.status, 200) << put.body;
    EXPECT_EQ(parsed(put)["label"], "runwhere.ai/gpu-model=a10");
    net::HttpResponse empty =
        co_await daemon.call("PUT", base + "/gpuModel", R"({"value":""})", kJsonType);
    EXPECT_EQ(empty.status, 400);
    net::HttpResponse gone =
        co_await daemon.call("DELETE", base + "/runwhere.ai%2Fgpu-model", "", "");
    EXPECT_EQ(gone.status, 200) << gone.body;
    EXPECT_EQ(parsed(gone)["labelKey"], "runwhere.ai/gpu-model");
    net::HttpResponse twice = co_await daemon.call("DELETE", base + "/gpuModel", "", "");
    EXPECT_EQ(twice.status, 404);
    EXPECT_EQ(error_code(twice), "LabelNotFound");
    net::HttpResponse missing = co_await daemon.get(base + "/gpuModel");
    EXPECT_EQ(error_code(missing), "LabelNotFound");
}

TEST(Acceptance, L13_labels_of_a_node_are_read_written_and_deleted_by_keys_with_a_slash) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(label_one_node);
}

aio::Task<void> refuse_wrong_labels(Daemon& daemon) {
    const std::string base = "/api/v1/nodes/plain-0/labels";
    const std::vector<std::pair<std::string, std::string>> cases{
        {R"({"key":"kubernetes.io/hostname","value":"x"})", "ValidationFailed"},
        {R"({"key":"a b","value":"x"})", "ValidationFailed"},
        {R"({"key":"a","value":"x y"})", "ValidationFailed"},
        {R"({"key":"a"})", "ValidationFailed"},
        {R"({"key":"a","value":"x","other":1})", "ValidationFailed"},
        {R"({"key":"a","value":"x","overwrite":"yes"})", "ValidationFailed"},
        {"[]", "InvalidJson"},
        {"{", "InvalidJson"}};
    for (const auto& [body, code] : cases) {
        net::HttpResponse refused = co_await daemon.call("POST", base, body, kJsonType);
        EXPECT_EQ(refused.status, 400) << body;
        EXPECT_EQ(error_code(refused), code) << body;
    }
    net::HttpResponse nowhere = co_await daemon.call("POST", "/api/v1/nodes/nowhere/labels",
                                                     R"({"key":"a","value":"b"})", kJsonType);
    EXPECT_EQ(error_code(nowhere), "NodeNotFound");
    net::HttpResponse old =
        co_await daemon.call("POST", base, R"({"key":"g8s.host/gpuType","value":"b"})", kJsonType);
    EXPECT_EQ(old.status, 200) << old.body;
    EXPECT_EQ(parsed(old)["label"]["key"], "runwhere.ai/gpu-type");
    EXPECT_EQ(parsed(old)["warnings"].size(), 1u);
    net::HttpResponse node = co_await daemon.get("/api/v1/nodes/plain-0");
    EXPECT_EQ(parsed(node)["gpuType"], "b") << "B18: the key of `label` is the one that is read";
}

TEST(NodeApi, a_label_that_cannot_be_is_refused_and_an_old_prefix_rewritten) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(refuse_wrong_labels);
}

aio::Task<void> label_several_nodes(Daemon& daemon) {
    net::HttpResponse listed = co_await daemon.call(
        "POST", "/api/v1/nodes/labels/batch",
        R"({"nodeNames":["train-0","nowhere","train-1"],"key":"team","value":"a"})", kJsonType);
    EXPECT_EQ(listed.status, 200) << listed.body;
    EXPECT_EQ(parsed(listed)["success"], nlohmann::json({"train-0", "train-1"}));
    EXPECT_EQ(parsed(listed)["failed"][0]["nodeName"], "nowhere");
    EXPECT_EQ(parsed(listed)["failed"][0]["error"], "NodeNotFound");
    const std::vector<std::string> queries{"nodeNames=train-0,plain-0&key=zone&value=z1",
                                           "nodeNames=train-1&nodeNames=plain-0&key=zone&value=z1"};
    for (const std::string& query : queries) {
        net::HttpResponse done =
            co_await daemon.call("POST", "/api/v1/nodes/labels/batch?" + query, "", "");
        EXPECT_EQ(done.status, 200) << done.body;
        EXPECT_EQ(parsed(done)["success"].size(), 2u) << query << done.body;
    }
    net::HttpResponse conflict = co_await daemon.call(
        "POST", "/api/v1/nodes/labels/batch?nodeNames=train-0&key=zone&value=z2", "", "");
    EXPECT_EQ(parsed(conflict)["failed"][0]["error"], "LabelConflict") << conflict.body;
    net::HttpResponse by_key = co_await daemon.get("/api/v1/nodes/labels?key=zone&pageSize=2");
    EXPECT_EQ(parsed(by_key)["total"], 3) << by_key.body;
    EXPECT_EQ(parsed(by_key)["items"].size(), 2u);
    EXPECT_EQ(parsed(by_key)["items"][0]["labelKey"], "runwhere.ai/zone");
    EXPECT_EQ(parsed(by_key)["items"][0]["labelValue"], "z1");
}

TEST(Acceptance, L14_several_nodes_are_labelled_at_once_by_a_body_or_by_the_query) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(label_several_nodes);
}

aio::Task<void> list_labels(Daemon& daemon) {
    net::HttpResponse gpu = co_await daemon.get("/api/v1/nodes/labels/all");
    EXPECT_EQ(parsed(gpu)["total"], 3);
    EXPECT_EQ(parsed(gpu)["items"][1]["nodeName"], "train-0");
    EXPECT_EQ(parsed(gpu)["items"][1]["gpuLabels"][0]["value"], "A100-80G") << gpu.body;
    EXPECT_EQ(parsed(gpu)["items"][1]["boundPools"][0], "training");
    net::HttpResponse values = co_await daemon.get("/api/v1/labels");
    EXPECT_EQ(parsed(values)["runwhere.ai/gpu-type"], nlohmann::json({"A100-80G"})) << values.body;
    EXPECT_FALSE(parsed(values).contains("kubernetes.io/hostname"));
    net::HttpResponse no_key = co_await daemon.get("/api/v1/nodes/labels");
    EXPECT_EQ(no_key.status, 400);
}

TEST(Acceptance, L15_labels_of_all_nodes_are_listed_and_a_list_without_a_key_is_refused) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(list_labels);
}

aio::Task<void> read_nodes(Daemon& daemon) {
    net::HttpResponse nodes = co_await daemon.get("/api/v1/nodes");
    EXPECT_EQ(parsed(nodes)["items"][0]["nodeName"], "plain-0");
    net::HttpResponse node = co_await daemon.get("/api/v1/nodes/train-0");
    EXPECT_EQ(parsed(node)["resources"]["gpuTotal"], 8);
    EXPECT_EQ(parsed(node)["gpuDetail"].size(), 8u);
    net::HttpResponse gpus = co_await daemon.get("/api/v1/nodes/gpu-detail");
    EXPECT_EQ(parsed(gpus)["total"], 3) << gpus.body;
    EXPECT_EQ(parsed(gpus)["items"][1]["nodeName"], "train-0");
    EXPECT_EQ(parsed(gpus)["items"][1]["gpuCount"], 8);
    EXPECT_EQ(parsed(gpus)["items"][1]["gpus"][7]["status"], "available");
    EXPECT_EQ(parsed(gpus)["items"][1]["gpus"][7]["type"], "A100-80G");
}

TEST(Acceptance, L11_gpu_detail_is_not_taken_for_the_name_of_a_node) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_nodes);
}

aio::Task<void> move_between_pools(Daemon& daemon) {
    net::HttpResponse added = co_await daemon.call("POST", "/api/v1/nodes/plain-0/pools",
                                                   R"({"pool":"training"})", kJsonType);
    EXPECT_EQ(added.status, 200) << added.body;
    net::HttpResponse node = co_await daemon.get("/api/v1/nodes/plain-0");
    EXPECT_EQ(parsed(node)["pool"], "training");
    net::HttpResponse taken = co_await daemon.call("POST", "/api/v1/nodes/plain-0/pools",
                                                   R"({"pool":"other"})", kJsonType);
    EXPECT_EQ(taken.status, 409) << "it is in another pool";
    EXPECT_EQ(error_code(taken), "Conflict");
    net::HttpResponse moved = co_await daemon.call("POST", "/api/v1/nodes/plain-0/pools",
                                                   R"({"pool":"other","move":true})", kJsonType);
    EXPECT_EQ(moved.status, 200) << moved.body;
    net::HttpResponse stranger =
        co_await daemon.call("DELETE", "/api/v1/nodes/plain-0/pools/training", "", "");
    EXPECT_EQ(stranger.status, 409) << "not a member";
    net::HttpResponse removed =
        co_await daemon.call("DELETE", "/api/v1/nodes/plain-0/pools/other", "", "");
    EXPECT_EQ(removed.status, 200) << removed.body;
    net::HttpResponse last = co_await daemon.get("/api/v1/nodes/plain-0");
    EXPECT_EQ(parsed(last)["pool"], "default");
    net::HttpResponse nothing =
        co_await daemon.call("POST", "/api/v1/nodes/plain-0/pools", "{}", kJsonType);
    EXPECT_EQ(nothing.status, 400);
}

TEST(Acceptance, K3_a_node_in_another_pool_is_only_moved_on_request) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(move_between_pools);
}

aio::Task<void> drain_a_node(Daemon& daemon) {
    net::HttpResponse cordoned =
        co_await daemon.call("POST", "/api/v1/nodes/train-1/cordon", "", "");
    EXPECT_EQ(cordoned.status, 200) << cordoned.body;
    EXPECT_EQ(parsed(cordoned)["status"], "maintaining");
    net::HttpResponse created = co_await daemon.create(training_yaml("llm", 8));
    EXPECT_EQ(created.status, 201);
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    net::HttpResponse used = co_await daemon.get("/api/v1/nodes/train-0");
    EXPECT_EQ(parsed(used)["gpuUsed"], 8) << "the other node is cordoned";
    net::HttpResponse opened =
        co_await daemon.call("POST", "/api/v1/nodes/train-1/uncordon", "", "");
    EXPECT_EQ(parsed(opened)["status"], "active") << opened.body;
    net::HttpResponse drained = co_await daemon.call("POST", "/api/v1/nodes/train-0/drain", "", "");
    EXPECT_EQ(drained.status, 200) << drained.body;
    EXPECT_EQ(parsed(drained)["podsEvicted"], 1) << drained.body;
    const bool moved = co_await daemon.until([](const ClusterState& state) {
        const Result<JobView> job = find_job(state, "", "llm");
        return job && job->pods.size() == 1 && job->pods[0].facts.node == "train-1" &&
               job->status == "Running";
    });
    EXPECT_TRUE(moved) << "its pod runs on the other node";
    net::HttpResponse node = co_await daemon.get("/api/v1/nodes/train-0");
    EXPECT_EQ(parsed(node)["draining"], true);
    net::HttpResponse ended =
        co_await daemon.call("POST", "/api/v1/nodes/train-0/uncordon", "", "");
    EXPECT_EQ(parsed(ended)["status"], "active");
    net::HttpResponse after = co_await daemon.get("/api/v1/nodes/train-0");
    EXPECT_EQ(parsed(after)["draining"], false);
}

TEST(NodeApi, a_drained_node_is_emptied_and_an_uncordon_ends_the_drain) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(drain_a_node);
}

aio::Task<void> set_before_restart(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.call("POST", "/api/v1/nodes/plain-0/labels",
                                                  R"({"key":"team","value":"a"})", kJsonType);
    EXPECT_EQ(made.status, 200);
    net::HttpResponse cordoned =
        co_await daemon.call("POST", "/api/v1/nodes/plain-0/cordon", "", "");
    EXPECT_EQ(cordoned.status, 200);
    net::HttpResponse moved = co_await daemon.call("POST", "/api/v1/nodes/train-0/pools",
                                                   R"({"pool":"other","move":true})", kJsonType);
    EXPECT_EQ(moved.status, 200) << moved.body;
}

aio::Task<void> expect_after_restart(Daemon& daemon) {
    const bool up = co_await daemon.until(
        [](const ClusterState& state) { return state.nodes.find_node("plain-0").exists(); });
    EXPECT_TRUE(up);
    net::HttpResponse node = co_await daemon.get("/api/v1/nodes/plain-0");
    EXPECT_EQ(parsed(node)["status"], "maintaining") << node.body;
    net::HttpResponse label = co_await daemon.get("/api/v1/nodes/plain-0/labels/team");
    EXPECT_EQ(parsed(label)["label"]["value"], "a") << label.body;
    net::HttpResponse moved = co_await daemon.get("/api/v1/nodes/train-0");
    EXPECT_EQ(parsed(moved)["pool"], "other") << "not what the configuration says";
}

TEST(NodeApi, an_embedded_cluster_keeps_labels_and_cordons_over_a_restart) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(set_before_restart);
    Daemon{quick_config(directory.path())}.run(expect_after_restart);
}

}  // namespace
}  // namespace gpuctl
