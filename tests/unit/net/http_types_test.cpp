#include "net/http/http_types.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuctl::net {
namespace {

using Strings = std::vector<std::string>;

TEST(HttpFields, names_compare_without_case_and_set_replaces_all) {
    HttpFields fields;
    fields.add("X-A", "1");
    fields.add("x-a", "2");
    EXPECT_EQ(fields.get("X-a"), "1");
    fields.set("X-A", "3");
    EXPECT_EQ(fields.all().size(), 1u);
    EXPECT_EQ(fields.get("x-A"), "3");
    EXPECT_FALSE(fields.has("x-b"));
    EXPECT_EQ(fields.get("x-b"), "");
}

TEST(ParseTarget, splits_and_decodes) {
    const Target target = parse_target("/api/v1/jobs/a%20b?limit=5&q=x%26y+z&flag");
    EXPECT_FALSE(target.malformed);
    EXPECT_EQ(target.segments, (Strings{"api", "v1", "jobs", "a b"}));
    EXPECT_EQ(target.query_value("limit"), "5");
    EXPECT_EQ(target.query_value("q"), "x&y z");
    EXPECT_TRUE(target.has_query("flag"));
    EXPECT_FALSE(target.has_query("none"));
    EXPECT_TRUE(parse_target("/").segments.empty());
    EXPECT_EQ(parse_target("/jobs/").segments, Strings{"jobs"});
}

TEST(ParseTarget, an_encoded_slash_stays_inside_its_segment) {
    EXPECT_EQ(parse_target("/jobs/team-a%2Fllm").segments, (Strings{"jobs", "team-a/llm"}));
}

TEST(ParseTarget, an_ambiguous_target_is_malformed) {
    for (const char* target : {"", "jobs", "*", "/a%", "/a%2", "/a%zz", "/a%00b", "/a//b", "//",
                               "/a/../b", "/a/%2e%2E/b", "/./a", "/a#b", "/a b", "/a\tb", "/\x80",
                               "/a?b=%", "/a?%q=1", "http://host/a"}) {
        const Target parsed = parse_target(target);
        EXPECT_TRUE(parsed.malformed) << target;
        EXPECT_TRUE(parsed.segments.empty()) << target;
    }
}

RC_GTEST_PROP(ParseTarget, an_encoded_text_is_read_back, (const std::string& text)) {
    RC_PRE(!text.empty() && text != "." && text != ".." && text.find('\0') == std::string::npos);
    const Target parsed =
        parse_target("/jobs/" + percent_encode(text) + "?q=" + percent_encode(text));
    RC_ASSERT(!parsed.malformed);
    RC_ASSERT(parsed.segments == (Strings{"jobs", text}));
    RC_ASSERT(parsed.query_value("q") == text);
}

RC_GTEST_PROP(ParseTarget, any_bytes_get_an_answer, (const std::string& text)) {
    const Target parsed = parse_target("/" + text);
    if (parsed.malformed) {
        RC_ASSERT(parsed.segments.empty());
    }
}

}  // namespace
}  // namespace gpuctl::net
