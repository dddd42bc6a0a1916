// Wrong words on the command line: the message says what to type instead.

#include <gtest/gtest.h>

#include <fstream>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

struct Slip {
    std::vector<std::string> typed;
    std::vector<std::string> says;
};

TEST(FirstHour, wrong_commands_and_flags_are_answered_with_what_to_type) {
    const std::vector<Slip> slips{
        {{"creat", "-f", "x"}, {"unknown command `creat`", "did you mean `create`?"}},
        {{"submit", "-f", "x"}, {"did you mean `gpuctl create`?"}},
        {{"create", "job.yaml"}, {"did you mean -f job.yaml?"}},
        {{"create"}, {"needs -f FILE"}},
        {{"get", "pods"}, {"did you mean `gpuctl get jobs`?"}},
        {{"get", "nodez"}, {"did you mean `nodes`?"}},
        {{"get", "jobs", "--knd", "training"}, {"did you mean --kind?"}},
        {{"get", "jobs", "--kind", "trainin"}, {"did you mean training?"}},
        {{"get", "jobs", "-n"}, {"--namespace needs a value"}},
        {{"get", "jobs", "-o", "xml"}, {"`xml` is not one of table, json, yaml"}},
        {{"get", "quotas", "--sort-by", "SIZE"},
         {"quotas have no such column", "QUOTA NAME, NAMESPACE, CPU, MEMORY, GPU"}},
        {{"describe", "job"}, {"needs NAME"}},
        {{"delete"}, {"give `delete job NAME` or `delete -f FILE`"}},
        {{"label", "n1"}, {"error: label: no label is given", "gpuctl label NODE... KEY=VALUE"}},
        {{"label", "zone=a"}, {"no node is given"}},
        {{"label", "n1", "a=b", "c=d"}, {"two labels are given, a=b and c=d"}},
        {{"add", "node", "--pool", "x"}, {"give the names of nodes"}},
        {{"add", "n1"}, {"needs --pool"}},
        {{"scale", "chat"}, {"needs --replicas"}},
        {{"scale", "chat", "--replicas", "two"}, {"`two` is not a whole number from 0"}},
        {{"scale", "a", "b", "--replicas", "2"}, {"one job is changed at a time"}},
        {{"logs", "a", "--since", "5"}, {"`5` is not a duration such as 90s, 15m or 2h"}},
        {{"logs", "a", "--tail", "0"}, {"`0` is not a whole number from 1"}},
        {{"wait", "a"}, {"needs --for"}},
        {{"completion", "tcsh"}, {"not one of bash, zsh or fish"}},
    };
    for (const Slip& slip : slips) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run(slip.typed);
        SCOPED_TRACE(slip.typed.front() + " " + slip.typed.back());
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_TRUE(outcome.request_lines.empty()) << "nothing is sent";
        for (const std::string& part : slip.says) {
            EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in: " << outcome.err;
        }
    }
}

TEST(FirstHour, a_kind_before_the_name_of_a_changed_job_is_a_kind) {
    for (const char* word : {"job", "notebook", "inference", "services"}) {
        CannedServer server{200, kJson, R"({"message":"changed"})"};
        const auto outcome = server.run({"scale", word, "lab", "--replicas", "1"});
        EXPECT_EQ(outcome.request_line, "PATCH /api/v1/jobs/lab/scale HTTP/1.1") << word;
    }
}

// With several files, a message without a place names its file.
TEST(FirstHour, a_refusal_names_its_file) {
    const std::string file = testing::TempDir() + "first_hour.yaml";
    std::ofstream{file} << "kind: training\njob: {name: a}\n";
    for (const char* verb : {"create", "apply"}) {
        CannedServer server{409, "application/problem+json",
                            R"({"error":"NeverFits","message":"no node fits"})"};
        const auto outcome = server.run({verb, "-f", file});
        EXPECT_EQ(outcome.exit_code, 4) << verb;
        EXPECT_NE(outcome.err.find("error (NeverFits): " + file + ": no node fits"),
                  std::string::npos)
            << verb << outcome.err;
    }
}

}  // namespace
}  // namespace gpuctl::cli
