// Log lines in both forms.

#include "daemon/diagnostics/log.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gpuctl::log {
namespace {

using nlohmann::json;

const ObjectKey kJob{"research", "llm"};

TEST(Log, InTextQuotesOnlyWhatWouldBeReadAsTwoFields) {
    EXPECT_EQ(render_text("job placed", {{"job", kJob}, {"pods", 2}, {"ok", true}}),
              "job placed job=research/llm pods=2 ok=true");
    EXPECT_EQ(render_text("bind not done", {{"err", "409: \"no\""}, {"by", ""}}),
              R"(bind not done err="409: \"no\"" by="")");
    EXPECT_EQ(render_text("line", {{"err", "a\nb"}}), R"(line err="a\nb")");
}

TEST(Log, InJsonKeepsTheMessageConstantAndItsFieldsTyped) {
    const json line = json::parse(
        render_json("job placed", {{"job", kJob}, {"pods", 2U}, {"ok", false}, {"err", "no room"}},
                    Where::current()));
    EXPECT_EQ(line.at("msg"), "job placed");
    EXPECT_EQ(line.at("job"), json::parse(R"({"name":"llm","namespace":"research"})"));
    EXPECT_EQ(line.at("pods"), 2);
    EXPECT_EQ(line.at("ok"), false);
    EXPECT_EQ(line.at("err"), "no room");
    EXPECT_TRUE(line.at("caller").get<std::string>().starts_with("log_test.cpp:"));
}

TEST(Log, InJsonReplacesWhatIsNotUtf8) {
    const json line = json::parse(render_json("m", {{"err", "\xff!"}}, Where::current()));
    EXPECT_EQ(line.at("err"), "\xEF\xBF\xBD!");
}

TEST(Log, ShowsALonePodsJobUnderThePodsName) {
    const ObjectKey lone{"default", std::string{kLonePodPrefix} + "hello"};
    EXPECT_EQ(render_text("job placed", {{"job", lone}}), "job placed job=default/hello");
    EXPECT_EQ(json::parse(render_json("m", {{"job", lone}}, Where::current()))["job"]["name"],
              "hello");
}

}  // namespace
}  // namespace gpuctl::log
