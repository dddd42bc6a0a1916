// Pools, quotas, queues and namespaces over REST, on a whole daemon on the embedded cluster.

#include <gtest/gtest.h>

#include <filesystem>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

using nlohmann::json;

aio::Task<net::HttpResponse> send_json(Daemon& daemon, std::string method, std::string target,
                                       std::string body) {
    std::string type = "application/json";
    net::HttpResponse response = co_await daemon.call(std::move(method), "/api/v1" + target,
                                                      std::move(body), std::move(type));
    co_return response;
}

aio::Task<net::HttpResponse> send_yaml(Daemon& daemon, std::string target, std::string body) {
    std::string method = "POST";
    std::string type = "application/yaml";
    net::HttpResponse response = co_await daemon.call(std::move(method), "/api/v1" + target,
                                                      std::move(body), std::move(type));
    co_return response;
}

aio::Task<json> read_of(Daemon& daemon, std::string target) {
    net::HttpResponse response = co_await daemon.get("/api/v1" + target);
    co_return parsed(response);
}

std::string label_of(const json& node, const std::string& key) {
    for (const auto& label : node["labels"]) {
        if (label["key"] == key) return label["value"].get<std::string>();
    }
    return "";
}

aio::Task<void> delete_object(Daemon& daemon, std::string target, int status,
                              std::string code = "") {
    std::string method = "DELETE";
    std::string none;
    net::HttpResponse response =
        co_await daemon.call(std::move(method), "/api/v1" + target, none, none);
    EXPECT_EQ(response.status, status) << target << " " << response.body;
    if (!code.empty()) {
        EXPECT_EQ(error_code(response), code) << response.body;
    }
}

aio::Task<void> make_a_pool(Daemon& daemon) {
    net::HttpResponse made = co_await send_json(
        daemon, "POST", "/pools",
        R"({"name":"infer","description":"served","nodes":{"plain-0":{"gpuType":"L40"}},)"
        R"("quota":{"maxJobs":3}})");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(parsed(made)["name"], "infer");
    EXPECT_EQ(parsed(made)["status"], "created");
    EXPECT_EQ(parsed(made)["message"], "pool infer created");
    const json pool = co_await read_of(daemon, "/pools/infer");
    EXPECT_EQ(pool["nodes"], json::array({"plain-0"})) << pool.dump();
    EXPECT_EQ(pool["gpuTotal"], 4);
    EXPECT_EQ(pool["gpuType"], json({{"L40", 4}}));
    EXPECT_EQ(pool["description"], "served");
    EXPECT_EQ(pool["source"], "api");
    EXPECT_EQ(pool["quota"]["maxJobs"], 3);
    EXPECT_EQ(pool["jobs"], json::array());
    const json node = co_await read_of(daemon, "/nodes/plain-0");
    EXPECT_EQ(label_of(node, "runwhere.ai/pool"), "infer");
    EXPECT_EQ(label_of(node, "runwhere.ai/gpu-type"), "L40");
    const json all = co_await read_of(daemon, "/pools");
    EXPECT_EQ(all["total"], 3) << "each pool once: default, infer, training";
    const json chosen = co_await read_of(daemon, "/pools?gpuType=l40");
    EXPECT_EQ(chosen["total"], 1);
    const json of_none = co_await read_of(daemon, "/pools/default");
    EXPECT_EQ(of_none["nodes"], json::array());
    EXPECT_EQ(of_none["source"], "file");

    net::HttpResponse again = co_await send_json(daemon, "POST", "/pools", R"({"name":"infer"})");
    EXPECT_EQ(again.status, 409);
    EXPECT_NE(parsed(again)["message"].get<std::string>().find("gpuctl apply"), std::string::npos);
    co_await delete_object(daemon, "/pools/infer", 200);
    const json back = co_await read_of(daemon, "/nodes/plain-0");
    EXPECT_EQ(back["pool"], "default");
    EXPECT_EQ(label_of(back, "runwhere.ai/pool"), "");
    co_await delete_object(daemon, "/pools/infer", 404, "PoolNotFound");
}

TEST(Acceptance, L9_a_pool_made_over_rest_is_listed_once_and_deleted) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(make_a_pool);
}

aio::Task<void> change_a_pool(Daemon& daemon) {
    net::HttpResponse unknown =
        co_await send_json(daemon, "PUT", "/pools/infer", R"({"description":"x"})");
    EXPECT_EQ(error_code(unknown), "PoolNotFound");
    net::HttpResponse made = co_await send_json(
        daemon, "POST", "/pools", R"({"name":"infer","nodes":["plain-0","plain-1"]})");
    EXPECT_EQ(made.status, 201) << made.body;
    net::HttpResponse changed =
        co_await send_json(daemon, "PUT", "/pools/infer",
                           R"({"nodes":{"plain-1":{"gpuType":"L40"},"plain-2":{"gpuType":"L4"}}})");
    EXPECT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(parsed(changed)["status"], "updated");
    const std::pair<const char*, const char*> expected[] = {
        {"plain-0", ""}, {"plain-1", "infer"}, {"plain-2", "infer"}};
    for (const auto& [name, pool] : expected) {
        const json node = co_await read_of(daemon, std::string{"/nodes/"} + name);
        EXPECT_EQ(label_of(node, "runwhere.ai/pool"), pool) << name;
        const std::string type = std::string{name} == "plain-1"   ? "L40"
                                 : std::string{name} == "plain-2" ? "L4"
                                                                  : "";
        EXPECT_EQ(label_of(node, "runwhere.ai/gpu-type"), type) << name;
    }
    net::HttpResponse same =
        co_await send_json(daemon, "PUT", "/pools/infer", R"({"description":""})");
    EXPECT_EQ(parsed(same)["status"], "unchanged") << same.body;
    net::HttpResponse other =
        co_await send_json(daemon, "PUT", "/pools/infer", R"({"name":"elsewhere"})");
    EXPECT_EQ(other.status, 400) << other.body;
}

config::Config three_plain_nodes(const std::string& directory) {
    config::Config config = quick_config(directory);
    config.cluster.embedded.nodes[1].count = 3;
    return config;
}

TEST(Acceptance, D7_L10_a_changed_pool_releases_gains_and_keeps_nodes) {
    const TempDir directory;
    Daemon{three_plain_nodes(directory.path())}.run(change_a_pool);
}

aio::Task<void> refuse_pools(Daemon& daemon) {
    net::HttpResponse unknown = co_await send_json(
        daemon, "POST", "/pools", R"({"name":"infer","nodes":["plain-0","nope","nada"]})");
    EXPECT_EQ(error_code(unknown), "NodeNotFound");
    const std::string message = parsed(unknown)["message"];
    EXPECT_NE(message.find("nada, nope"), std::string::npos) << message;
    const json node = co_await read_of(daemon, "/nodes/plain-0");
    EXPECT_EQ(node["pool"], "default") << "nothing half-done";
    net::HttpResponse taken =
        co_await send_json(daemon, "POST", "/pools", R"({"name":"infer","nodes":["train-0"]})");
    EXPECT_EQ(error_code(taken), "Conflict");
    EXPECT_NE(parsed(taken)["message"].get<std::string>().find("train-0 (pool training)"),
              std::string::npos);
    net::HttpResponse first =
        co_await send_json(daemon, "POST", "/pools", R"({"name":"a","nodes":["plain-0"]})");
    EXPECT_EQ(first.status, 201) << first.body;
    net::HttpResponse second =
        co_await send_json(daemon, "POST", "/pools", R"({"name":"b","nodes":["plain-0"]})");
    EXPECT_EQ(second.status, 409) << second.body;
    net::HttpResponse of_file =
        co_await send_json(daemon, "POST", "/pools", R"({"name":"training"})");
    EXPECT_EQ(error_code(of_file), "ManagedByFile");
    net::HttpResponse put =
        co_await send_json(daemon, "PUT", "/pools/training", R"({"description":"x"})");
    EXPECT_EQ(error_code(put), "ManagedByFile");
    co_await delete_object(daemon, "/pools/training", 409, "ManagedByFile");
    net::HttpResponse job =
        co_await send_json(daemon, "POST", "/pools", R"({"kind":"training","name":"x"})");
    EXPECT_EQ(error_code(job), "UnsupportedKind");
}

TEST(Acceptance, K2_K3_unknown_nodes_and_nodes_of_other_pools_are_refused_whole) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(refuse_pools);
}

aio::Task<void> move_nodes(Daemon& daemon) {
    net::HttpResponse made = co_await send_json(daemon, "POST", "/pools",
                                                R"({"name":"a","nodes":["plain-0","plain-1"]})");
    EXPECT_EQ(made.status, 201) << made.body;
    net::HttpResponse other = co_await send_json(daemon, "POST", "/pools", R"({"name":"b"})");
    EXPECT_EQ(other.status, 201) << other.body;
    net::HttpResponse refused =
        co_await send_json(daemon, "POST", "/nodes/plain-0/pools", R"({"pool":"b"})");
    EXPECT_EQ(refused.status, 409) << refused.body;
    net::HttpResponse moved =
        co_await send_json(daemon, "POST", "/nodes/plain-0/pools", R"({"pool":"b","move":true})");
    EXPECT_EQ(moved.status, 200) << moved.body;
    const json a = co_await read_of(daemon, "/pools/a");
    EXPECT_EQ(a["namedNodes"], json::array({"plain-1"}));
    const json b = co_await read_of(daemon, "/pools/b");
    EXPECT_EQ(b["namedNodes"], json::array({"plain-0"}));
    EXPECT_EQ(b["nodes"], json::array({"plain-0"}));
    co_await delete_object(daemon, "/nodes/plain-0/pools/b", 200);
    const json empty = co_await read_of(daemon, "/pools/b");
    EXPECT_EQ(empty["namedNodes"], json::array());
    EXPECT_EQ(empty["nodes"], json::array());
    const json node = co_await read_of(daemon, "/nodes/plain-0");
    EXPECT_EQ(node["pool"], "default");
}

TEST(PolicyApi, a_node_that_is_moved_is_moved_in_the_pools_that_name_it) {
    const TempDir directory;
    Daemon{three_plain_nodes(directory.path())}.run(move_nodes);
}

aio::Task<void> delete_used_pool(Daemon& daemon) {
    net::HttpResponse made =
        co_await send_json(daemon, "POST", "/pools", R"({"name":"infer","nodes":["plain-0"]})");
    EXPECT_EQ(made.status, 201) << made.body;
    net::HttpResponse job = co_await daemon.create(training_yaml("llm", 4, 1, "infer"));
    EXPECT_EQ(job.status, 201) << job.body;
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    const json pool = co_await read_of(daemon, "/pools/infer");
    EXPECT_EQ(pool["jobs"][0]["name"], "llm");
    std::string method = "DELETE";
    std::string none;
    net::HttpResponse refused = co_await daemon.call(method, "/api/v1/pools/infer", none, none);
    EXPECT_EQ(error_code(refused), "PoolInUse");
    EXPECT_NE(parsed(refused)["message"].get<std::string>().find("default/llm"), std::string::npos);
    co_await delete_object(daemon, "/pools/infer?force=true", 200);
}

TEST(Acceptance, H11_a_pool_with_jobs_is_deleted_only_by_force) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(delete_used_pool);
}

aio::Task<void> make_quotas(Daemon& daemon) {
    net::HttpResponse made = co_await send_yaml(
        daemon, "/quotas",
        "kind: quota\nquota: {name: tesla-quota}\ndefault: {cpu: 20, memory: 40Gi, gpu: 2}\n"
        "namespace: {team-a: {memory: 8Gi}, team-b: {cpu: 1}}\n");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(parsed(made)["created"].size(), 3u) << made.body;
    const json quota = co_await read_of(daemon, "/quotas/default");
    EXPECT_EQ(quota["name"], "tesla-quota");
    EXPECT_EQ(quota["hard"]["cpu"], "20");
    EXPECT_EQ(quota["hard"]["gpu"], "2");
    const json part = co_await read_of(daemon, "/quotas?namespace=team-a");
    EXPECT_EQ(part["hard"]["cpu"], "unlimited");
    EXPECT_EQ(part["hard"]["memory"], "8Gi");
    const json spaces = co_await read_of(daemon, "/namespaces");
    EXPECT_EQ(spaces["total"], 3) << "a namespace with a quota exists: " << spaces.dump();
    net::HttpResponse second = co_await send_yaml(
        daemon, "/quotas", "kind: quota\nquota: {name: other}\nnamespace: {team-a: {gpu: 1}}\n");
    EXPECT_EQ(error_code(second), "QuotaExists");
    EXPECT_NE(parsed(second)["message"].get<std::string>().find("tesla-quota"), std::string::npos);

    net::HttpResponse job = co_await daemon.create(training_yaml("llm", 2, 1, "training"));
    EXPECT_EQ(job.status, 201) << job.body;
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    const json used = co_await read_of(daemon, "/quotas/default");
    EXPECT_EQ(used["used"], json({{"cpu", "1"}, {"memory", "1Gi"}, {"gpu", "2"}}));
    net::HttpResponse lower = co_await send_json(daemon, "PUT", "/quotas/default", R"({"gpu":1})");
    EXPECT_EQ(lower.status, 200) << lower.body;
    EXPECT_NE(parsed(lower)["message"].get<std::string>().find("used > hard (gpu 2 > 1)"),
              std::string::npos)
        << lower.body;
    const json still = co_await read_of(daemon, "/jobs/llm");
    EXPECT_EQ(still["status"], "Running") << "nothing is evicted for it";

    co_await delete_object(daemon, "/jobs/llm", 200);
    std::function<bool(const ClusterState&)> is_gone = [](const ClusterState& state) {
        return !find_job(state, "", "llm");
    };
    const bool gone = co_await daemon.until(std::move(is_gone));
    EXPECT_TRUE(gone);
    const json freed = co_await read_of(daemon, "/quotas/default");
    EXPECT_EQ(freed["used"], json({{"cpu", "0"}, {"memory", "0"}, {"gpu", "0"}}));
    co_await delete_object(daemon, "/quotas/tesla-quota", 200);
    co_await delete_object(daemon, "/quotas/team-a", 404, "QuotaNotFound");
    const json after = co_await read_of(daemon, "/namespaces/team-a");
    EXPECT_EQ(after["quota"], nullptr) << "H15: the namespace stays";
    EXPECT_EQ(after["status"], "Active");
}

TEST(Acceptance, K5_K6_K9_H15_quotas_are_one_for_each_namespace_and_count_what_runs) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(make_quotas);
}

aio::Task<void> use_namespaces(Daemon& daemon) {
    const json before = co_await read_of(daemon, "/namespaces");
    EXPECT_EQ(before["items"].size(), 1u);
    EXPECT_EQ(before["items"][0]["name"], "default");
    // Before a namespace is made: then any name is one.
    net::HttpResponse used = co_await daemon.create(training_yaml("other", 2), "?namespace=team-b");
    EXPECT_EQ(used.status, 201) << used.body;
    net::HttpResponse made =
        co_await send_json(daemon, "POST", "/namespaces", R"({"name":"team-a"})");
    EXPECT_EQ(made.status, 201) << made.body;
    const json known = co_await read_of(daemon, "/namespaces/team-a");
    EXPECT_EQ(known["labels"], json({{"runwhere.ai/namespace", "true"}}));
    EXPECT_EQ(known["quota"], nullptr);
    const json always = co_await read_of(daemon, "/namespaces/default");
    EXPECT_EQ(always["status"], "Active");
    net::HttpResponse none = co_await daemon.get("/api/v1/namespaces/nope");
    EXPECT_EQ(error_code(none), "NamespaceNotFound");
    net::HttpResponse job = co_await daemon.create(training_yaml("llm", 2), "?namespace=team-a");
    EXPECT_EQ(job.status, 201) << job.body;
    co_await delete_object(daemon, "/namespaces/default", 403, "NamespaceNotManaged");
    co_await delete_object(daemon, "/namespaces/team-b", 403, "NamespaceNotManaged");
    co_await delete_object(daemon, "/namespaces/kube-system", 404, "NamespaceNotFound");
    co_await delete_object(daemon, "/namespaces/team-a", 200);
    std::function<bool(const ClusterState&)> is_gone = [](const ClusterState& state) {
        return !find_job(state, "team-a", "llm");
    };
    const bool gone = co_await daemon.until(std::move(is_gone));
    EXPECT_TRUE(gone) << "its jobs are deleted with it";
    net::HttpResponse after = co_await daemon.get("/api/v1/namespaces/team-a");
    EXPECT_EQ(after.status, 404) << after.body;
}

TEST(Acceptance, L17_H14_namespaces_are_listed_and_only_made_ones_are_deleted) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(use_namespaces);
}

aio::Task<void> use_queues(Daemon& daemon) {
    net::HttpResponse made = co_await send_yaml(
        daemon, "/policy?mode=create",
        "kind: queue\nqueue: {name: llm, pool: training, parent: research, guaranteed: 2}\n---\n"
        "kind: queue\nqueue: {name: research, pool: training, guaranteed: 4}\n");
    EXPECT_EQ(made.status, 200) << made.body;
    const json queue = co_await read_of(daemon, "/queues/llm?pool=training");
    EXPECT_EQ(queue["path"], "research/llm");
    EXPECT_EQ(queue["source"], "api");
    net::HttpResponse more =
        co_await send_json(daemon, "PUT", "/queues/llm?pool=training", R"({"guaranteed":6})");
    EXPECT_EQ(error_code(more), "ValidationFailed");
    EXPECT_NE(parsed(more)["message"].get<std::string>().find("more than its own 4"),
              std::string::npos);
    co_await delete_object(daemon, "/queues/research?pool=training", 409, "Conflict");
    net::HttpResponse gone =
        co_await send_yaml(daemon, "/policy?mode=delete",
                           "kind: queue\nqueue: {name: research, pool: training}\n---\n"
                           "kind: queue\nqueue: {name: llm, pool: training}\n");
    EXPECT_EQ(gone.status, 200) << "in any order: " << gone.body;
    net::HttpResponse none = co_await daemon.get("/api/v1/queues/llm?pool=training");
    EXPECT_EQ(error_code(none), "QueueNotFound");
}

TEST(PolicyApi, queues_are_made_together_and_checked_as_a_tree) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(use_queues);
}

aio::Task<void> write_documents(Daemon& daemon) {
    const std::string good = "kind: pool\npool: {name: infer}\nnodes: {plain-0: {}}\n---\n";
    net::HttpResponse bad = co_await send_yaml(daemon, "/policy?mode=create",
                                               good +
                                                   "kind: quota\nquota: {name: q}\n"
                                                   "namespace: {t: {gpu: abc}}\n");
    EXPECT_EQ(error_code(bad), "ValidationFailed");
    EXPECT_NE(parsed(bad)["message"].get<std::string>().find("line 7"), std::string::npos)
        << bad.body;
    net::HttpResponse unmade = co_await daemon.get("/api/v1/pools/infer");
    EXPECT_EQ(unmade.status, 404) << "all or none";
    net::HttpResponse dry = co_await send_yaml(daemon, "/policy?mode=apply&dryRun", good);
    EXPECT_EQ(parsed(dry)["results"][0]["message"], "pool infer would be created");
    net::HttpResponse made = co_await send_yaml(daemon, "/policy?mode=apply", good);
    EXPECT_EQ(parsed(made)["results"][0]["action"], "create") << made.body;
    net::HttpResponse same = co_await send_yaml(daemon, "/policy?mode=apply", good);
    EXPECT_EQ(parsed(same)["results"][0]["action"], "unchanged") << same.body;
    net::HttpResponse gone = co_await send_yaml(daemon, "/policy?mode=delete", good);
    EXPECT_EQ(parsed(gone)["results"][0]["action"], "deleted") << gone.body;
    net::HttpResponse job =
        co_await send_yaml(daemon, "/policy?mode=create", training_yaml("a", 1));
    EXPECT_EQ(error_code(job), "UnsupportedKind");
}

TEST(PolicyApi, documents_of_a_request_are_stored_together_or_not_at_all) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(write_documents);
}

aio::Task<void> make_one_of_each(Daemon& daemon) {
    net::HttpResponse made = co_await send_yaml(
        daemon, "/policy?mode=create",
        "kind: pool\npool: {name: infer}\nnodes: {plain-0: {gpuType: L40}}\n---\n"
        "kind: queue\nqueue: {name: chat, pool: infer}\n---\n"
        "kind: quota\nquota: {name: q}\nnamespace: {team-a: {gpu: 3}}\n");
    EXPECT_EQ(made.status, 200) << made.body;
    EXPECT_EQ(parsed(made)["results"].size(), 4u) << made.body;
}

aio::Task<void> find_one_of_each(Daemon& daemon) {
    const json pool = co_await read_of(daemon, "/pools/infer");
    EXPECT_EQ(pool["nodes"], json::array({"plain-0"})) << pool.dump();
    EXPECT_EQ(pool["gpuType"], json({{"L40", 4}}));
    const json queue = co_await read_of(daemon, "/queues/chat?pool=infer");
    EXPECT_EQ(queue["source"], "api") << queue.dump();
    const json quota = co_await read_of(daemon, "/quotas/team-a");
    EXPECT_EQ(quota["hard"]["gpu"], "3") << quota.dump();
    const json space = co_await read_of(daemon, "/namespaces/team-a");
    EXPECT_EQ(space["source"], "api") << space.dump();
}

TEST(PolicyApi, what_was_acknowledged_is_there_after_a_restart) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(make_one_of_each);
    Daemon{quick_config(directory.path())}.run(find_one_of_each);
}

// The files as they were when the answer came, as after kill -9.
std::string killed_directory;

aio::Task<void> make_one_of_each_and_copy(Daemon& daemon) {
    co_await make_one_of_each(daemon);
    const std::string live = killed_directory.substr(0, killed_directory.size() - 2);
    std::filesystem::copy(live, killed_directory, std::filesystem::copy_options::recursive);
}

TEST(PolicyApi, what_was_acknowledged_is_there_after_a_kill) {
    const TempDir directory;
    const std::string live = directory.path() + "/s";
    std::filesystem::create_directory(live);
    killed_directory = live + "-k";
    Daemon{quick_config(live)}.run(make_one_of_each_and_copy);
    Daemon{quick_config(killed_directory)}.run(find_one_of_each);
}

aio::Task<void> reload_around_objects(Daemon& daemon) {
    const TempDir unused;
    co_await make_one_of_each(daemon);
    config::Config same = quick_config(unused.path());
    same.journal.directory = daemon.configured().journal.directory;
    same.server.port = daemon.configured().server.port;
    config::Config conflicting = same;
    PoolPolicy pool;
    pool.name = "infer";
    conflicting.policy.pools.push_back(pool);
    conflicting.places["policy.pools.0.name"] = "gpuctld.yaml:9:7";
    const Result<void> refused = daemon.app->reload(conflicting);
    EXPECT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("pool infer is in gpuctld.yaml:9:7"), std::string::npos)
        << refused.error().message;
    co_await find_one_of_each(daemon);

    config::Config more = same;
    pool.name = "extra";
    more.policy.pools.push_back(pool);
    const Result<void> taken = daemon.app->reload(more);
    EXPECT_TRUE(taken) << taken.error().message;
    std::function<bool(const ClusterState&)> has_extra = [](const ClusterState& state) {
        return state.tree.find_pool("extra").exists();
    };
    const bool has = co_await daemon.until(std::move(has_extra));
    EXPECT_TRUE(has);
    co_await find_one_of_each(daemon);
    net::HttpResponse of_file = co_await send_json(daemon, "POST", "/pools", R"({"name":"extra"})");
    EXPECT_EQ(error_code(of_file), "ManagedByFile");
}

TEST(PolicyApi, a_reload_keeps_objects_and_is_refused_if_it_has_the_name_of_one) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(reload_around_objects);
}

}  // namespace
}  // namespace gpuctl
