#include "cli/listing/json_path.hpp"

#include <gtest/gtest.h>

namespace gpuctl::cli {
namespace {

using nlohmann::json;

const json kList = {
    {"items",
     {{{"name", "a"}, {"gpu", 8}, {"labels", {{"x.y/z", "1"}}}, {"tags", {"p", "q"}}},
      {{"name", "b"}, {"gpu", 2}, {"status", "Running"}},
      {{"name", "c"}, {"gpu", 16}, {"status", "Pending"}}}},
    {"total", 3}};

std::string render(const std::string& text) {
    const Result<JsonTemplate> parsed = JsonTemplate::parse(text);
    return parsed ? parsed->render(kList) : "error: " + parsed.error().message;
}

TEST(JsonPath, reads_members_indexes_and_every_element) {
    EXPECT_EQ(render("{.items[*].name}"), "a b c");
    EXPECT_EQ(render(".items[0].name"), "a") << "braces may be left out";
    EXPECT_EQ(render("{.items[-1].gpu}"), "16");
    EXPECT_EQ(render("{.items[0].tags[*]}"), "p q");
    EXPECT_EQ(render("{.total}"), "3");
    EXPECT_EQ(render("{.items[0].tags}"), R"(["p","q"])");
}

TEST(JsonPath, what_is_absent_is_empty) {
    EXPECT_EQ(render("{.items[*].status}"), "Running Pending");
    EXPECT_EQ(render("{.nothing.here}"), "");
    EXPECT_EQ(render("{.items[7].name}"), "");
}

TEST(JsonPath, a_key_with_dots_is_escaped_or_quoted) {
    EXPECT_EQ(render(R"({.items[0].labels.x\.y/z})"), "1");
    EXPECT_EQ(render("{.items[0].labels['x.y/z']}"), "1");
}

TEST(JsonPath, filters_compare_texts_and_numbers) {
    EXPECT_EQ(render(R"({.items[?(@.status=="Running")].name})"), "b");
    EXPECT_EQ(render(R"({.items[?(@.gpu>=8)].name})"), "a c");
    EXPECT_EQ(render(R"({.items[?(@.gpu < 8)].name})"), "b");
    EXPECT_EQ(render(R"({.items[?(@.status)].name})"), "b c");
    EXPECT_EQ(render(R"({.items[?(@.status!="Running")].name})"), "a c");
    EXPECT_EQ(render(R"({.items[?(@.name>3)].name})"), "") << "a text is not larger than a number";
}

TEST(JsonPath, a_range_repeats_its_text) {
    EXPECT_EQ(render(R"({range .items[*]}{.name}{"\t"}{.gpu}{"\n"}{end}total {.total})"),
              "a\t8\nb\t2\nc\t16\ntotal 3");
}

TEST(JsonPath, errors_say_what_is_missing_and_where) {
    EXPECT_NE(render("{.items[}").find("a number, * or a quoted name is missing at character 8"),
              std::string::npos)
        << render("{.items[}");
    EXPECT_NE(render("{.items").find("a } is missing"), std::string::npos);
    EXPECT_NE(render("{range .items[*]}{.name}").find("{range} without {end}"), std::string::npos);
    EXPECT_NE(render("{end}").find("{end} without {range}"), std::string::npos);
    EXPECT_NE(render(R"({.items[?(@.a=="x)]})").find("missing"), std::string::npos);
    EXPECT_NE(render("{.a..b}").find("a name is missing"), std::string::npos) << render("{.a..b}");
}

}  // namespace
}  // namespace gpuctl::cli
