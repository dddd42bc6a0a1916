// A job's name is accepted in the form in which it is printed.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

TEST(Names, of_jobs_are_accepted_in_every_spelling_that_is_printed) {
    for (const char* name : {"team-a/b1", "job/team-a/b1", "jobs/team-a/b1"}) {
        for (const auto& [words, target] :
             {std::pair{std::vector<std::string>{"describe", "job"}, "b1?"},
              {std::vector<std::string>{"explain", "job"}, "b1/explain?"},
              {std::vector<std::string>{"logs"}, "b1/logs?tail=100&"},
              {std::vector<std::string>{"delete", "job"}, "b1?"}}) {
            CannedServer server{200, kJson, "{}"};
            std::vector<std::string> all = words;
            all.emplace_back(name);
            const auto outcome = server.run(all);
            const std::string path = target;
            std::string wanted = "/api/v1/jobs/" + path + "namespace=team-a HTTP/1.1";
            if (words[0] == "logs") {
                wanted = "/api/v1/jobs/b1/logs?namespace=team-a&tail=100 HTTP/1.1";
            }
            EXPECT_EQ(outcome.request_line.substr(outcome.request_line.find(' ') + 1), wanted);
        }
    }
    CannedServer server{200, kJson, "{}"};
    EXPECT_EQ(server.run({"describe", "job", "job/b1"}).request_line,
              "GET /api/v1/jobs/b1 HTTP/1.1");
}

TEST(Names, with_their_kind_need_no_word_before_them) {
    for (const auto& [words, wanted] :
         {std::pair{std::vector<std::string>{"delete", "job/team-a/b1"},
                    "DELETE /api/v1/jobs/b1?namespace=team-a HTTP/1.1"},
          {{"describe", "pool/b1"}, "GET /api/v1/pools/b1 HTTP/1.1"},
          {{"explain", "job/b1"}, "GET /api/v1/jobs/b1/explain HTTP/1.1"}}) {
        CannedServer server{200, kJson, "{}"};
        EXPECT_EQ(server.run(words).request_line, wanted);
    }
    CannedServer server{200, kJson, "{}"};
    EXPECT_EQ(server.run({"delete", "-f", "job/none.yaml"}).request_line, "");
}

TEST(Names, with_a_namespace_win_over_the_default_one_and_contradict_no_flag_silently) {
    CannedServer same{200, kJson, "{}"};
    EXPECT_EQ(same.run({"describe", "job", "a/b1", "-n", "a"}).request_line,
              "GET /api/v1/jobs/b1?namespace=a HTTP/1.1");
    for (const char* verb : {"describe", "explain", "delete"}) {
        CannedServer other{200, kJson, "{}"};
        const auto outcome = other.run({verb, "job", "a/b1", "-n", "b"});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.request_line, "");
        EXPECT_NE(outcome.err.find("a/b1 is in namespace a, and -n says b"), std::string::npos)
            << outcome.err;
    }
}

TEST(Names, that_are_invalid_are_refused_with_the_valid_spellings) {
    for (const char* name : {"a/", "/b", "a/b/c", "job/", "job/a/b/c"}) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run({"logs", name});
        EXPECT_EQ(outcome.exit_code, 2) << name;
        EXPECT_EQ(outcome.request_line, "") << name;
        EXPECT_NE(outcome.err.find("NAMESPACE/NAME"), std::string::npos) << outcome.err;
    }
}

TEST(Names, of_several_jobs_may_lie_in_several_namespaces) {
    CannedServer server{200, kJson, "{}"};
    const auto outcome = server.run({"delete", "job", "a/x", "job/b/y", "z"});
    const std::vector<std::string> wanted{"DELETE /api/v1/jobs/x?namespace=a HTTP/1.1",
                                          "DELETE /api/v1/jobs/y?namespace=b HTTP/1.1",
                                          "DELETE /api/v1/jobs/z HTTP/1.1"};
    EXPECT_EQ(outcome.request_lines, wanted);
}

TEST(Names, that_get_jobs_prints_are_each_job_once_with_its_namespace) {
    CannedServer server{200, kJson,
                        R"({"total":2,"items":[{"jobId":"b1","name":"b1","namespace":"a"},)"
                        R"({"jobId":"b1","name":"b1","namespace":"b"}]})"};
    const auto outcome = server.run({"get", "jobs", "-o", "name"});
    EXPECT_EQ(outcome.out, "job/a/b1\njob/b/b1\n");
    EXPECT_NE(outcome.request_line.find("view=job"), std::string::npos) << outcome.request_line;
    CannedServer one{200, kJson,
                     R"({"total":1,"items":[{"jobId":"b1","name":"b1","namespace":"a"}]})"};
    const auto found = one.run({"get", "jobs", "job/a/b1", "-o", "name"});
    EXPECT_EQ(found.out, "job/a/b1\n");
    EXPECT_NE(found.request_line.find("namespace=a&"), std::string::npos) << found.request_line;
}

TEST(Names, of_queues_and_pools_select_among_jobs) {
    CannedServer server{200, kJson, R"({"total":0,"items":[]})"};
    const auto outcome =
        server.run({"get", "jobs", "--queue", "research", "--pool", "training", "--json"});
    EXPECT_NE(outcome.request_line.find("pool=training&"), std::string::npos)
        << outcome.request_line;
    EXPECT_NE(outcome.request_line.find("queue=research&"), std::string::npos)
        << outcome.request_line;
}

TEST(Names, of_pools_and_nodes_are_accepted_as_get_prints_them) {
    CannedServer pool{200, kJson, "{}"};
    EXPECT_EQ(pool.run({"describe", "pool", "pool/p"}).request_line,
              "GET /api/v1/pools/p HTTP/1.1");
    CannedServer node{200, kJson, R"({"total":1,"items":[{"nodeName":"n1"}]})"};
    EXPECT_EQ(node.run({"get", "nodes", "node/n1", "-o", "name"}).out, "node/n1\n");
}

TEST(Names, of_queues_include_the_pool_and_can_be_typed_again) {
    const std::string rows =
        R"({"total":4,"items":[{"pool":"a","name":"default","path":"default"},)"
        R"({"pool":"b","name":"default","path":"default"},)"
        R"({"pool":"b","name":"research","path":"research"},)"
        R"({"pool":"b","name":"llm","path":"research/llm"}]})";
    CannedServer all{200, kJson, rows};
    EXPECT_EQ(all.run({"get", "queues", "-o", "name"}).out,
              "queue/a/default\nqueue/b/default\nqueue/b/research\nqueue/b/research/llm\n");
    for (const auto& [typed, found] : {std::pair{"queue/b/default", "queue/b/default\n"},
                                       {"b/research/llm", "queue/b/research/llm\n"},
                                       {"b/llm", "queue/b/research/llm\n"},
                                       {"research/llm", "queue/b/research/llm\n"},
                                       {"llm", "queue/b/research/llm\n"},
                                       {"default", "queue/a/default\nqueue/b/default\n"}}) {
        CannedServer server{200, kJson, rows};
        EXPECT_EQ(server.run({"get", "queues", typed, "-o", "name"}).out, found) << typed;
    }
}

}  // namespace
}  // namespace gpuctl::cli
