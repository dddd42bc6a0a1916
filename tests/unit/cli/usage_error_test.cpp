// A refused command line: the message names the wrong word, what is near, and the help command.

#include <gtest/gtest.h>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

using Line = std::vector<std::string>;

struct Refused {
    Line words;
    std::string message;
};

void expect_refused(const std::vector<Refused>& cases) {
    for (const Refused& each : cases) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run(each.words);
        EXPECT_EQ(outcome.exit_code, 2) << each.message;
        EXPECT_EQ(outcome.err, "error: " + each.message + "\n");
        EXPECT_EQ(outcome.out, "") << each.message;
        EXPECT_EQ(outcome.request_line, "") << each.message;
    }
}

TEST(UsageError, of_a_flag_names_similar_flags) {
    expect_refused({
        {{"get", "jobs", "--summry"},
         "unknown flag --summry of `gpuctl get jobs`; did you mean --summary? See `gpuctl get jobs "
         "--help`."},
        {{"get", "jobs", "--name=a"},
         "unknown flag --name of `gpuctl get jobs`; did you mean --namespace? See `gpuctl get jobs "
         "--help`."},
        {{"get", "--wrong"}, "unknown flag --wrong of `gpuctl get`. See `gpuctl get --help`."},
        {{"get", "jobs", "-x"},
         "unknown flag -x of `gpuctl get jobs`. See `gpuctl get jobs --help`."},
        {{"get", "jobs", "--contxt", "a"},
         "unknown flag --contxt of `gpuctl get jobs`; did you mean --context? See `gpuctl get jobs "
         "--help`."},
    });
}

TEST(UsageError, of_a_flag_comes_before_the_missing_argument) {
    expect_refused({
        {{"what-if", "--bogus"},
         "unknown flag --bogus of `gpuctl what-if`. See `gpuctl what-if --help`."},
        {{"describe", "job", "--bogus"},
         "unknown flag --bogus of `gpuctl describe job`. See `gpuctl describe job --help`."},
    });
}

TEST(UsageError, of_a_command_names_similar_commands) {
    expect_refused({
        {{"gte"}, "unknown command `gte` of `gpuctl`; did you mean `get`? See `gpuctl --help`."},
        {{"desc", "job", "a"},
         "unknown command `desc` of `gpuctl`; did you mean `describe`? See `gpuctl --help`."},
        {{"submit", "-f", "a.yaml"},
         "unknown command `submit` of `gpuctl`; did you mean `gpuctl create`? See `gpuctl "
         "--help`."},
        {{"qqqq", "--wrong"}, "unknown command `qqqq` of `gpuctl`. See `gpuctl --help`."},
    });
}

const std::string kKinds =
    "jobs, pools, nodes, queues, events, notebook, labels, node-labels, gpu-type, quotas or "
    "namespaces";

TEST(UsageError, of_a_kind_names_similar_kinds_or_all_of_them) {
    expect_refused({
        {{"get", "poolz"},
         "`gpuctl get` has no kind `poolz`; did you mean `pools`? See `gpuctl get --help`."},
        {{"get", "pds"},
         "`gpuctl get` has no kind `pds`, only " + kKinds + ". See `gpuctl get --help`."},
        {{"get", "pods"},
         "`gpuctl get` has no kind `pods`; did you mean `gpuctl get jobs`? See `gpuctl get "
         "--help`."},
        {{"get"}, "`gpuctl get` needs one of " + kKinds + ". See `gpuctl get --help`."},
        {{"get", "--pool", "a"},
         "`gpuctl get` needs one of " + kKinds + " before --pool. See `gpuctl get --help`."},
        {{"describe", "pod", "a"},
         "`gpuctl describe` has no kind `pod`, only job, pool, node, quota, namespace or "
         "queue. See `gpuctl describe --help`."},
    });
}

TEST(UsageError, of_a_name_without_its_kind_has_the_whole_command) {
    for (const std::string verb : {"delete", "describe", "explain"}) {
        CannedServer server{200, kJson, "{}"};
        const auto outcome = server.run({verb, "llm-sft"});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_NE(outcome.err.find("`gpuctl " + verb + " job llm-sft`"), std::string::npos)
            << outcome.err;
    }
}

TEST(UsageError, of_arguments_says_which_is_missing_or_too_many) {
    expect_refused({
        {{"create"}, "`gpuctl create` needs -f FILE. See `gpuctl create --help`."},
        {{"explain", "job"}, "`gpuctl explain job` needs NAME. See `gpuctl explain job --help`."},
        {{"logs", "a", "b"}, "unexpected argument `b` of `gpuctl logs`. See `gpuctl logs --help`."},
        {{"create", "a.yaml"},
         "unexpected argument `a.yaml` of `gpuctl create`; did you mean -f a.yaml? See `gpuctl "
         "create "
         "--help`."},
        {{"get", "jobs", "--pool"}, "--pool needs a value. See `gpuctl get jobs --help`."},
        {{"get", "jobs", "--pool", "a", "--pool", "b"},
         "--pool is given more than once. See `gpuctl get jobs --help`."},
        {{"-o", "wide", "get", "jobs"},
         "-o goes after `gpuctl get jobs`. See `gpuctl get jobs --help`."},
    });
}

TEST(UsageError, of_a_value_names_similar_values) {
    expect_refused({
        {{"get", "jobs", "--kind", "trainig"},
         "--kind: `trainig` is not one of training, inference, notebook, compute or pod; did you "
         "mean "
         "training? See `gpuctl get jobs --help`."},
        {{"get", "jobs", "-o", "xml"},
         "--output: `xml` is not one of table, json, yaml, name, wide, jsonl, csv, jsonpath=... or "
         "columns=.... See `gpuctl get jobs --help`."},
        {{"get", "jobs", "-o", "jsonpath="},
         "--output: `jsonpath=` needs an expression after =. See `gpuctl get jobs --help`."},
    });
}

TEST(UsageError, help_of_a_command_may_be_its_first_word) {
    CannedServer server{200, kJson, "{}"};
    const auto outcome = server.run({"help", "get", "jobs"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("Usage: gpuctl get jobs"), std::string::npos) << outcome.out;
}

// Regression: the general help and exit code 0.
TEST(UsageError, help_of_a_command_that_does_not_exist_is_refused) {
    expect_refused({
        {{"help", "frobnicate"}, "unknown command `frobnicate` of `gpuctl`. See `gpuctl --help`."},
        {{"help", "explian"},
         "unknown command `explian` of `gpuctl`; did you mean `explain`? See `gpuctl --help`."},
        {{"frobnicate", "--help"},
         "unknown command `frobnicate` of `gpuctl`. See `gpuctl --help`."},
        {{"help", "get", "poolz"},
         "`gpuctl get` has no kind `poolz`; did you mean `pools`? See `gpuctl get --help`."},
    });
    for (const Line& words : {Line{"help"}, Line{"--help"}, Line{"help", "explain"},
                              Line{"help", "get", "jobs", "a"}, Line{"logs", "a", "--help"}}) {
        CannedServer server{200, kJson, "{}"};
        EXPECT_EQ(server.run(words).exit_code, 0) << words.back();
    }
}

TEST(UsageError, of_a_number_says_that_it_is_none_or_outside_of_the_bounds) {
    for (const std::string word : {"abc", "0", "10001", "1.5", "3x"}) {
        expect_refused(
            {{{"logs", "a", "--tail", word},
              "--tail: `" + word +
                  "` is not a whole number from 1 to 10000. See `gpuctl logs --help`."}});
    }
    expect_refused({{{"preview", "--config", "x", "--hours", "745"},
                     "--hours: `745` is not a whole number from 1 to 744. See `gpuctl preview "
                     "--help`."}});
}

TEST(UsageError, kinds_may_be_plural_as_in_get) {
    for (const Line& words : {Line{"describe", "jobs", "a"}, Line{"explain", "jobs", "a"},
                              Line{"delete", "jobs", "a"}, Line{"describe", "pools", "a"}}) {
        CannedServer server{404, "application/problem+json", "{}"};
        EXPECT_NE(server.run(words).request_line, "") << words[0];
    }
}

}  // namespace
}  // namespace gpuctl::cli
