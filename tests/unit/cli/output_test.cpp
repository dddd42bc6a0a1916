#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {
namespace {

TEST(Table, columns_are_two_spaces_apart_and_lines_have_no_tail) {
    Table table{{"A", "LONG"}};
    table.add_row({"wide cell", ""});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(), "A          LONG\nwide cell\n");
}

TEST(Table, header_is_printed_without_rows) {
    std::ostringstream out;
    Table{{"ONLY"}}.print(out);
    EXPECT_EQ(out.str(), "ONLY\n");
}

TEST(Table, wide_characters_keep_the_columns_straight) {
    Table table{{"N", "X"}};
    table.add_row({"训练", "1"});
    table.add_row({"abcd", "2"});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(), "N     X\n训练  1\nabcd  2\n");
}

TEST(Printable, escape_sequences_of_a_server_do_not_reach_the_terminal) {
    EXPECT_EQ(printable("a\x1b[31mb\x07\nc"), "a[31mb c");
    EXPECT_EQ(printable("a\nb", true), "a\nb");
}

TEST(SecondsSince, reads_rfc3339_and_refuses_everything_else) {
    EXPECT_EQ(seconds_since("1970-01-01T00:00:10Z", 70'000), 60);
    EXPECT_EQ(seconds_since("2024-02-30T00:00:10Z", 70'000), -1);
    EXPECT_EQ(seconds_since("yesterday", 70'000), -1);
}

TEST(Yaml, strings_that_look_like_other_types_are_quoted) {
    std::ostringstream out;
    print_yaml(out, {{"port", "8000"}, {"name", "x"}});
    EXPECT_EQ(out.str(), "name: x\nport: \"8000\"\n");
}

TEST(Explanation, a_job_that_does_not_wait_is_explained_by_its_summary) {
    std::ostringstream out;
    print_explanation(out, {{"namespace", "default"},
                            {"jobId", "llm"},
                            {"status", "Failed"},
                            {"queue", "q"},
                            {"pool", "p"},
                            {"summary", "it failed: pod llm-0 ended with Error"},
                            {"blockers", nlohmann::json::array()}});
    EXPECT_EQ(out.str(),
              "job default/llm is Failed in queue q of pool p\n"
              "it failed: pod llm-0 ended with Error\n");
}

TEST(Explanation, a_system_critical_pod_is_in_no_queue) {
    std::ostringstream out;
    print_explanation(out, {{"namespace", "kube-system"},
                            {"jobId", "dns"},
                            {"status", "Pending"},
                            {"queue", ""},
                            {"pool", "p"},
                            {"blockers", nlohmann::json::array()}});
    EXPECT_EQ(out.str(), "job kube-system/dns is Pending outside the queues of pool p\n");
}

// Regression: "0s remaining, predicted from its limit" where nothing says how long it runs.
TEST(Explanation, an_unknown_run_time_is_not_shown_as_zero) {
    const auto line_of = [](nlohmann::json run_time) {
        std::ostringstream out;
        print_explanation(
            out, {{"namespace", "default"},
                  {"jobId", "u3"},
                  {"status", "Pending"},
                  {"queue", "q"},
                  {"pool", "p"},
                  {"blockers", nlohmann::json::array({{{"sentence", "s"}, {"reason", "r"}}})},
                  {"queueOrder", {{"runTime", std::move(run_time)}}}});
        const std::string text = out.str();
        const std::size_t at = text.find("  run time (SHORTEST): ");
        return at == std::string::npos ? text : text.substr(at + 23, text.find('\n', at) - at - 23);
    };
    nlohmann::json run_time = {
        {"ms", 10'000},        {"isKnown", false}, {"isRemaining", true},     {"gpus", 4},
        {"isDeclared", false}, {"halfLifeMs", 0},  {"gpuExponentPercent", 70}};
    EXPECT_EQ(line_of(run_time),
              "unknown (no expectedRunTime, and no past job of its namespace), so it counts as 10s "
              "remaining, times 4 GPUs to the power of 0.70; the smallest goes first");
    run_time["isRemaining"] = false;
    run_time["ms"] = 86'400'000;
    EXPECT_EQ(
        line_of(run_time),
        "unknown (no expectedRunTime, no maxRunTime, and no past job of its namespace), so it "
        "counts as 1d to run; the smallest goes first");
    run_time["isKnown"] = true;
    run_time["ms"] = 18'000'000;
    EXPECT_EQ(
        line_of(run_time),
        "5h to run, predicted from its limit and its namespace's past jobs; the smallest goes "
        "first");
}

TEST(Explanation, a_boost_that_has_not_begun_is_shown_as_to_come) {
    std::ostringstream out;
    print_explanation(
        out, {{"namespace", "default"},
              {"jobId", "late"},
              {"status", "Pending"},
              {"queue", "q"},
              {"pool", "p"},
              {"position", 1},
              {"blockers", nlohmann::json::array({{{"sentence", "s"}, {"reason", "r"}}})},
              {"queueOrder",
               {{"boostFrom", "2999-11-22T08:24:00Z"}, {"boostUntil", "2999-11-22T08:30:00Z"}}}});
    EXPECT_NE(out.str().find("It starts at a time that cannot be estimated yet\n"),
              std::string::npos)
        << out.str();
    EXPECT_NE(out.str().find("  from 2999-11-22T08:24:00Z until 2999-11-22T08:30:00Z its remaining "
                             "work will count as one eighth, because its wait will then be close "
                             "to the pool's wait target\n"),
              std::string::npos)
        << out.str();
}

class Documents : public testing::Test {
protected:
    Result<std::vector<DocumentPart>> read(const std::string& text) {
        const std::string path = testing::TempDir() + "documents_test.yaml";
        std::ofstream{path} << text;
        return read_documents(path);
    }
};

TEST_F(Documents, each_part_keeps_the_line_numbers_of_its_file) {
    const auto parts = read("a: 1\n---\nb: 2\n--- # comment\nc: 3\n");
    ASSERT_TRUE(parts);
    ASSERT_EQ(parts->size(), 3U);
    EXPECT_EQ((*parts)[1].text, "\n\nb: 2\n");
    const std::string& third = (*parts)[2].text;
    const std::string before = third.substr(0, third.find("c: 3"));
    EXPECT_EQ(std::count(before.begin(), before.end(), '\n'), 4);
}

TEST_F(Documents, comments_alone_are_no_document) { EXPECT_FALSE(read("# nothing\n\n---\n")); }

TEST_F(Documents, a_directive_belongs_to_the_document_that_follows_it) {
    const auto one = read("# head\n%YAML 1.2\n# why\n---\na: 1\n");
    ASSERT_TRUE(one);
    ASSERT_EQ(one->size(), 1U);
    EXPECT_EQ((*one)[0].text, "# head\n%YAML 1.2\n# why\n---\na: 1\n");
    const auto two = read("%YAML 1.2\n---\na: 1\n...\n# next\n%YAML 1.2\n---\nb: 2\n");
    ASSERT_TRUE(two);
    ASSERT_EQ(two->size(), 2U);
    EXPECT_EQ((*two)[0].text, "%YAML 1.2\n---\na: 1\n");
    EXPECT_EQ((*two)[1].text, "\n\n\n\n# next\n%YAML 1.2\n---\nb: 2\n");
    EXPECT_FALSE(read("%YAML 1.2\n---\n# nothing\n"));
}

TEST_F(Documents, a_byte_order_mark_and_comments_before_the_first_line_are_no_document) {
    const auto parts = read("\xEF\xBB\xBF# head\n---\na: 1\n");
    ASSERT_TRUE(parts);
    ASSERT_EQ(parts->size(), 1U);
    EXPECT_EQ(parts->front().text.find("a: 1"), parts->front().text.size() - 5);
}

TEST_F(Documents, text_after_a_separator_keeps_its_column) {
    const auto parts = read("--- {a: 1}\n--- {b: 2}\n");
    ASSERT_TRUE(parts);
    ASSERT_EQ(parts->size(), 2U);
    EXPECT_EQ((*parts)[0].text, "    {a: 1}\n");
    EXPECT_EQ((*parts)[1].text, "\n    {b: 2}\n");
}

TEST_F(Documents, a_missing_file_is_named) {
    const auto parts = read_documents("/nowhere/x.yaml");
    ASSERT_FALSE(parts);
    EXPECT_NE(parts.error().message.find("/nowhere/x.yaml"), std::string::npos);
}

TEST_F(Documents, a_directory_is_refused_by_name) {
    const auto parts = read_documents("/tmp");
    ASSERT_FALSE(parts);
    EXPECT_EQ(parts.error().code, ErrorCode::BadRequest);
    EXPECT_EQ(parts.error().message, "read /tmp: is a directory; name the files in it");
}

TEST_F(Documents, a_file_without_end_is_read_up_to_the_limit_only) {
    const auto parts = read_documents("/dev/zero");
    ASSERT_FALSE(parts);
    EXPECT_EQ(parts.error().code, ErrorCode::BodyTooLarge);
    EXPECT_EQ(parts.error().message, "read /dev/zero: larger than the 16 MiB allowed for a file");
}

// A job that waits two hours at most was shown one hour (ages round down).
TEST(Output, shows_when_a_job_starts_and_what_cannot_be_estimated) {
    constexpr std::int64_t now_ms = 1'700'000'000'000;  // 2023-11-14T22:13:20Z
    const auto job = [](const char* earliest, const char* likely, const char* latest) {
        const auto time_json = [](const char* at) {
            return at == nullptr ? nlohmann::json{} : nlohmann::json(at);
        };
        return nlohmann::json{{"estimatedStart",
                               {{"earliest", time_json(earliest)},
                                {"likely", time_json(likely)},
                                {"latest", time_json(latest)}}}};
    };
    const nlohmann::json estimated =
        job("2023-11-14T22:10:00Z", "2023-11-14T22:18:20Z", "2023-11-16T22:13:20Z");
    EXPECT_EQ(start_words(estimated, now_ms),
              "in about 5m (now at the earliest, in 2d at the latest)");
    EXPECT_EQ(start_short(estimated, now_ms), "5m");
    EXPECT_EQ(
        start_words(job("2023-11-15T00:12:51Z", "2023-11-15T00:12:51Z", "2023-11-15T00:12:51Z"),
                    now_ms),
        "in about 2h (in 1h59m at the earliest, in 2h at the latest)");
    EXPECT_EQ(
        start_words(job("2023-11-14T22:10:00Z", "2023-11-14T22:23:14Z", "2023-11-14T22:23:14Z"),
                    now_ms),
        "in about 9m54s (now at the earliest, in 9m54s at the latest)")
        << "not 10m, which is later than the latest start";
    nlohmann::json passed = estimated;
    passed["estimatedStart"]["mayBeOvertaken"] = true;
    EXPECT_EQ(start_words(passed, now_ms),
              "in about 5m (now at the earliest, in 2d at the latest), unless smaller jobs start "
              "first; no capacity is reserved for it");
    passed["estimatedStart"]["reservedFrom"] = "2023-11-14T22:53:20Z";
    EXPECT_NE(
        start_words(passed, now_ms)
            .find("no capacity is reserved for it in the next 40m or before it is head of line"),
        std::string::npos)
        << start_words(passed, now_ms);
    passed["estimatedStart"]["reservedFrom"] = "2023-11-14T22:03:20Z";
    EXPECT_NE(start_words(passed, now_ms)
                  .find("no capacity is reserved for it before it is head of line"),
              std::string::npos)
        << start_words(passed, now_ms);
    EXPECT_EQ(start_words(job("2023-11-14T22:13:50Z", nullptr, nullptr), now_ms),
              "at a time that cannot be estimated yet, in 30s at the earliest");
    EXPECT_EQ(start_words(job("2023-11-14T22:10:00Z", nullptr, nullptr), now_ms),
              "at a time that cannot be estimated yet");
    EXPECT_EQ(start_words(job("2023-11-14T22:10:00Z", "2023-11-14T22:18:20Z", nullptr), now_ms),
              "in about 5m (now at the earliest)");
    EXPECT_EQ(start_words(job(nullptr, nullptr, "2023-11-16T22:13:20Z"), now_ms),
              "in 2d at the latest");
    EXPECT_EQ(start_words(job("2023-11-14T22:10:00Z", nullptr, "2023-11-16T22:13:20Z"), now_ms),
              "in 2d at the latest");
    EXPECT_EQ(start_words(job("2023-11-14T22:33:20Z", nullptr, "2023-11-14T22:34:20Z"), now_ms),
              "between 20m and 21m from now");
    EXPECT_EQ(start_words(job("2023-11-14T22:13:41Z", nullptr, "2023-11-14T22:13:41Z"), now_ms),
              "in 21s");
    EXPECT_EQ(start_words(nlohmann::json{{"estimatedStart", nullptr}}, now_ms), "");
    EXPECT_EQ(start_words(nlohmann::json::object(), now_ms), "");
    EXPECT_EQ(start_short(nlohmann::json::object(), now_ms), "-");
}

}  // namespace
}  // namespace gpuctl::cli
