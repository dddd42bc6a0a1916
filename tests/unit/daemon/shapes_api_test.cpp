// Shapes of queues, quotas and jobs over REST, on a whole daemon on the embedded cluster.

#include <gtest/gtest.h>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

using nlohmann::json;

aio::Task<void> make_documents(Daemon& daemon, std::string yaml) {
    net::HttpResponse made = co_await daemon.call("POST", "/api/v1/policy?mode=create",
                                                  std::move(yaml), "application/yaml");
    EXPECT_EQ(made.status, 200) << made.body;
}

constexpr const char* kTreeOfQueues =
    "kind: queue\nqueue: {name: research, pool: training}\n---\n"
    "kind: queue\nqueue: {name: llm, pool: training, parent: research}\n---\n"
    "kind: queue\nqueue: {name: both, pool: training}\n---\n"
    "kind: queue\nqueue: {name: both, pool: default}\n---\n"
    "kind: pool\npool: {name: third}\n";

aio::Task<void> read_queues(Daemon& daemon) {
    co_await make_documents(daemon, kTreeOfQueues);
    net::HttpResponse llm = co_await daemon.get("/api/v1/queues/llm?pool=training");
    EXPECT_EQ(parsed(llm)["parent"], "research") << "a text, not a list of one";
    EXPECT_EQ(parsed(llm)["path"], "research/llm");
    net::HttpResponse top = co_await daemon.get("/api/v1/queues/research?pool=training");
    EXPECT_EQ(parsed(top)["parent"], nullptr);
    net::HttpResponse found = co_await daemon.get("/api/v1/queues/llm");
    EXPECT_EQ(parsed(found)["pool"], "training") << "only one pool has a queue of that name";
    net::HttpResponse both = co_await daemon.get("/api/v1/queues/both");
    EXPECT_EQ(parsed(both)["pool"], "default") << "the default pool's comes first";
    net::HttpResponse wrong = co_await daemon.get("/api/v1/queues/both?pool=third");
    EXPECT_EQ(error_code(wrong), "QueueNotFound");
    const std::string said = parsed(wrong)["message"];
    EXPECT_NE(said.find("other pools have a queue of that name: default, training"),
              std::string::npos)
        << said;
    net::HttpResponse none = co_await daemon.get("/api/v1/queues/nope");
    EXPECT_EQ(error_code(none), "QueueNotFound");
}

TEST(Shapes, a_queue_names_its_parent_and_is_found_without_its_pool) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_queues);
}

aio::Task<void> delete_a_quota_of_two(Daemon& daemon) {
    co_await make_documents(
        daemon,
        "kind: quota\nquota: {name: teams}\nnamespace: {team-a: {gpu: 1}, team-b: {gpu: 2}}\n");
    net::HttpResponse deleted = co_await daemon.call("DELETE", "/api/v1/quotas/teams", "", "");
    EXPECT_EQ(deleted.status, 200) << deleted.body;
    EXPECT_EQ(parsed(deleted)["message"], "the quotas of namespaces team-a, team-b deleted");
    EXPECT_EQ(parsed(deleted)["deleted"].size(), 2u);
}

TEST(Shapes, the_message_of_a_deleted_quota_names_every_namespace) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(delete_a_quota_of_two);
}

aio::Task<void> read_gpu_types(Daemon& daemon) {
    net::HttpResponse made = co_await daemon.create(training_yaml("any", 1));
    EXPECT_EQ(made.status, 201) << made.body;
    const bool runs = co_await daemon.until_status("any", "Running");
    EXPECT_TRUE(runs);
    for (const char* view : {"/api/v1/jobs", "/api/v1/jobs?view=job"}) {
        const std::string target = view;
        net::HttpResponse list = co_await daemon.get(target);
        EXPECT_EQ(parsed(list)["items"][0]["gpuType"], "A100-80G") << view << list.body;
    }
}

TEST(Shapes, a_job_that_requests_no_model_shows_that_of_its_node) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(read_gpu_types);
}

aio::Task<void> add_to_no_pool(Daemon& daemon) {
    const std::string body = R"({"pool":"typo"})";
    net::HttpResponse refused =
        co_await daemon.call("POST", "/api/v1/nodes/train-0/pools", body, "application/json");
    EXPECT_EQ(refused.status, 409) << refused.body;
    const std::string said = parsed(refused)["message"];
    EXPECT_NE(said.find("it is in pool training"), std::string::npos) << said;
    EXPECT_NE(said.find("pool typo does not exist yet"), std::string::npos) << said;
}

TEST(Shapes, a_node_for_a_misspelt_pool_is_refused_with_that) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(add_to_no_pool);
}

// Bad input of the issue: whatever is refused, nothing half-created stays behind.
aio::Task<void> give_bad_input(Daemon& daemon) {
    const std::string type = "application/yaml";
    const std::string target = "/api/v1/policy?mode=apply";
    const std::string half =
        "kind: pool\npool: {name: good}\nnodes: {plain-0: {}}\n---\n"
        "kind: quota\nquota: {name: q}\nnamespace: {team: {gpu: many}}\n";
    net::HttpResponse refused = co_await daemon.call("POST", target, half, type);
    EXPECT_EQ(error_code(refused), "ValidationFailed") << refused.body;
    net::HttpResponse none = co_await daemon.get("/api/v1/pools/good");
    EXPECT_EQ(none.status, 404) << "all or none";
    const std::string twice =
        "kind: pool\npool: {name: a}\nnodes: {plain-0: {}}\n---\n"
        "kind: pool\npool: {name: b}\nnodes: {plain-0: {}}\n";
    net::HttpResponse in_two = co_await daemon.call("POST", target, twice, type);
    EXPECT_GE(in_two.status, 400) << in_two.body;
    EXPECT_NE(parsed(in_two)["message"].get<std::string>().find("plain-0"), std::string::npos)
        << in_two.body;
    net::HttpResponse not_a = co_await daemon.get("/api/v1/pools/a");
    EXPECT_EQ(not_a.status, 404) << "all or none";
    const std::string empty = "kind: pool\npool: {name: bare}\n";
    net::HttpResponse made = co_await daemon.call("POST", target, empty, type);
    EXPECT_EQ(made.status, 200) << made.body;
    net::HttpResponse bare = co_await daemon.get("/api/v1/pools/bare");
    EXPECT_EQ(parsed(bare)["status"], "empty");
    const std::string job = training_yaml("nowhere", 1, 1, "bare");
    net::HttpResponse in_empty = co_await daemon.create(job);
    EXPECT_EQ(error_code(in_empty), "PoolEmpty") << in_empty.body;
    net::HttpResponse list = co_await daemon.get("/api/v1/jobs");
    EXPECT_EQ(parsed(list)["total"], 0);
}

TEST(Shapes, bad_input_leaves_nothing_half_created) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(give_bad_input);
}

}  // namespace
}  // namespace gpuctl
