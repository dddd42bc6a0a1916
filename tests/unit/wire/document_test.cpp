#include "wire/job/document.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "unit/wire/support.hpp"

namespace gpuctl::wire {
namespace {

using nlohmann::json;

json yaml(const std::string& text) {
    const auto parsed = parse_yaml(text);
    if (parsed.has_error()) return "error: " + parsed.error().message;
    return parsed->empty() ? json(nullptr) : parsed->front().root;
}

std::string yaml_error(const std::string& text, const DocumentLimits& limits = {}) {
    const auto parsed = parse_yaml(text, limits);
    if (parsed.has_value()) return "no error";
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidYaml);
    EXPECT_EQ(parsed.error().details.size(), 1u);
    return parsed.error().message;
}

std::string json_error(const std::string& text, const DocumentLimits& limits = {}) {
    const auto parsed = parse_json(text, limits);
    if (parsed.has_value()) return "no error";
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidJson);
    EXPECT_EQ(parsed.error().details.size(), 1u);
    return parsed.error().message;
}

TEST(Yaml, scalars_follow_the_core_schema) {
    EXPECT_EQ(yaml("[true, False, yes, on, no, off, y]"),
              json({true, false, "yes", "on", "no", "off", "y"}));
    EXPECT_EQ(yaml("[null, ~, Null, '']"), json({nullptr, nullptr, nullptr, ""}));
    EXPECT_EQ(yaml("[1, -7, +3, 0o17, 0x1f, 007]"), json({1, -7, 3, 15, 31, 7}));
    EXPECT_EQ(yaml("[1.5, .5, 5., 1e3, -1.5E-3]"), json({1.5, 0.5, 5.0, 1000.0, -0.0015}));
    EXPECT_EQ(yaml("['1', \"true\", 1_000, 1.2.3, 12:30, 0b1, v0.1, 2024-01-01]"),
              json({"1", "true", "1_000", "1.2.3", "12:30", "0b1", "v0.1", "2024-01-01"}));
    EXPECT_EQ(yaml("[9223372036854775807, 18446744073709551615, -9223372036854775808]"),
              json({INT64_MAX, UINT64_MAX, INT64_MIN}));
    EXPECT_EQ(yaml("[!!str 12, !!int 12]"), json({"12", 12}));
    EXPECT_EQ(yaml("a: |\n  x\n  y\nb: >\n  x\n  y\n"), json({{"a", "x\ny\n"}, {"b", "x y\n"}}));
}

TEST(Yaml, numbers_that_would_lose_digits_are_errors) {
    EXPECT_TRUE(holds(yaml_error("a: 18446744073709551616"), "is out of range: numbers have"));
    EXPECT_TRUE(holds(yaml_error("a: 0.1234567890123456789"), "stored exactly"));
    EXPECT_TRUE(holds(yaml_error("a: 1e999"), "stored exactly"));
    EXPECT_TRUE(holds(yaml_error("a: .nan"), "not a usable number"));
}

TEST(Yaml, what_was_written_is_kept_for_text_fields) {
    const auto documents = parse_yaml("a: 1.10\nb: [0o17, TRUE, ~]\nc: '1.10'\n").value();
    const Document& document = documents.at(0);
    EXPECT_EQ(document.text_of("/a", document.root["a"]), "1.10");
    EXPECT_EQ(document.text_of("/b/0", document.root["b"][0]), "0o17");
    EXPECT_EQ(document.text_of("/b/1", document.root["b"][1]), "TRUE");
    EXPECT_EQ(document.text_of("/c", document.root["c"]), "1.10");
}

TEST(Yaml, places_count_characters_and_fall_back_to_what_encloses) {
    const auto documents = parse_yaml("a:\n  b: 1\n  描述: {x: 1, y: [2, 3]}\n---\nc: 4\n").value();
    ASSERT_EQ(documents.size(), 2u);
    const Document& first = documents[0];
    const auto at = [&](const std::string& pointer) {
        const Place place = first.place_of(pointer);
        EXPECT_EQ(place.pointer, pointer);
        return std::to_string(place.line) + ":" + std::to_string(place.column);
    };
    EXPECT_EQ(at(""), "1:1");
    EXPECT_EQ(at("/a/b"), "2:3");
    EXPECT_EQ(at("/a/描述"), "3:3");
    EXPECT_EQ(at("/a/描述/x"), "3:8");
    EXPECT_EQ(at("/a/描述/y/1"), "3:21");
    EXPECT_EQ(at("/a/描述/z/9"), "3:3");
    EXPECT_EQ(documents[1].place_of("/c").line, 5);
}

TEST(Yaml, a_stream_gives_its_documents_without_the_empty_ones) {
    EXPECT_EQ(parse_yaml("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n").value().size(), 2u);
    EXPECT_TRUE(parse_yaml("").value().empty());
    EXPECT_TRUE(parse_yaml("\n# only a comment\n").value().empty());
    EXPECT_EQ(yaml("\xef\xbb\xbf"
                   "a: 1"),
              json({{"a", 1}}));
    EXPECT_EQ(yaml("a: 1\r\nb: 2\r\n"), json({{"a", 1}, {"b", 2}}));
}

TEST(Yaml, duplicate_keys_name_both_places) {
    const std::string message = yaml_error("job:\n  name: a\n  x: 1\n  name: b\n");
    EXPECT_TRUE(holds(message, "line 4, column 3")) << message;
    EXPECT_TRUE(holds(message, "\"name\" is already given at line 2, column 3")) << message;
}

TEST(Yaml, keys_are_text) {
    EXPECT_TRUE(holds(yaml_error("1.5: a"), "put 1.5 in quotes"));
    EXPECT_TRUE(holds(yaml_error("0x1: a"), "put 0x1 in quotes"));
    EXPECT_TRUE(holds(yaml_error("01: a"), "put 01 in quotes"));
    EXPECT_TRUE(holds(yaml_error("true: a"), "put true in quotes"));
    EXPECT_TRUE(holds(yaml_error("["), "a [ is not closed"));
    EXPECT_TRUE(holds(yaml_error("? [a]\n: b"), "a key must be text, not a list"));
    EXPECT_TRUE(holds(yaml_error("? {a: b}\n: b"), "a key must be text, not a map"));
    EXPECT_TRUE(holds(yaml_error("~: b"), "a key must be text"));
    EXPECT_EQ(yaml("'1': a\non: b\n"), json({{"1", "a"}, {"on", "b"}}));
    EXPECT_EQ(yaml("1: a\n16: b\n"), json({{"1", "a"}, {"16", "b"}}));
}

TEST(Yaml, aliases_and_merge_keys_unfold) {
    EXPECT_EQ(yaml("a: &x [1, 2]\nb: *x\n"), json({{"a", {1, 2}}, {"b", {1, 2}}}));
    EXPECT_EQ(yaml("base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n"),
              json({{"base", {{"x", 1}, {"y", 2}}}, {"c", {{"x", 1}, {"y", 3}}}}));
    EXPECT_EQ(yaml("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc:\n  <<: [*a, *b]\n")["c"],
              json({{"x", 1}, {"y", 2}}));
    EXPECT_TRUE(holds(yaml_error("a: &a 1\nb:\n  <<: *a\n"), "merge key"));
    EXPECT_TRUE(holds(yaml_error("a: &a [*a]"), "refers to a value that contains it"));
    EXPECT_TRUE(holds(yaml_error("a: *nowhere"), "anchor that does not exist"));
}

TEST(Yaml, aliases_that_multiply_fail_before_they_grow) {
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; ++i) {
        const std::string last = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
        for (int j = 1; j < 10; ++j) bomb += ", " + last;
        bomb += "]\n";
    }
    EXPECT_TRUE(holds(yaml_error(bomb), "its aliases expanded"));

    std::string texts = "a: &a " + std::string(100'000, 'x') + "\nb: [";
    for (int i = 0; i < 90; ++i) texts += "*a, ";
    EXPECT_TRUE(holds(yaml_error(texts + "*a]"), "bytes with its aliases expanded"));

    std::string many = "a: &a 1\nb: [";
    for (int i = 0; i < 100; ++i) many += "*a, ";
    EXPECT_TRUE(holds(yaml_error(many + "*a]"), "more than 100 aliases"));

    // Depth includes the depth of an alias.
    DocumentLimits shallow;
    shallow.depth_max = 6;
    EXPECT_EQ(yaml_error("a: &a [[[1]]]\nb: [[*a]]\n", shallow), "no error");
    EXPECT_TRUE(holds(yaml_error("a: &a [[[1]]]\nb: [[[*a]]]\n", shallow), "deeper than 6"));
}

TEST(Yaml, size_depth_and_number_of_values_are_bounded) {
    DocumentLimits limits;
    limits.bytes_max = 100;
    EXPECT_TRUE(holds(yaml_error(std::string(101, 'a'), limits), "101 bytes, more than the 100"));
    EXPECT_TRUE(holds(yaml_error(std::string(65, '[') + std::string(65, ']')), "deeper than 64"));
    EXPECT_EQ(yaml_error(std::string(64, '[') + std::string(64, ']')), "no error");
    const std::string open_lists(100'000, '[');
    const std::string close_lists(100'000, ']');
    EXPECT_TRUE(holds(yaml_error(open_lists + close_lists), "deeper than 64"));
    EXPECT_NE(yaml_error(open_lists), "no error");
    EXPECT_NE(yaml_error(std::string(100'000, '{')), "no error");
    std::string deep;
    for (int i = 0; i < 700; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    EXPECT_TRUE(holds(yaml_error(deep), "deeper than 64"));
    limits = {};
    limits.nodes_max = 10;
    EXPECT_TRUE(holds(yaml_error("[1,2,3,4,5,6,7,8,9,10]", limits), "more than 10 values"));
    EXPECT_EQ(yaml_error("[1,2,3,4,5,6,7,8,9]", limits), "no error");
    limits = {};
    limits.documents_max = 2;
    EXPECT_TRUE(holds(yaml_error("--- 1\n--- 2\n--- 3\n", limits), "more than 2 documents"));
}

TEST(Yaml, text_that_is_not_clean_utf8_is_refused_with_its_place) {
    EXPECT_TRUE(holds(yaml_error("a: 1\nb: \xff\n"), "line 2, column 4: this is not UTF-8"));
    EXPECT_TRUE(holds(yaml_error("a: \xc0\x80"), "not UTF-8"));
    EXPECT_TRUE(holds(yaml_error("a: \xed\xa0\x80"), "not UTF-8"));
    EXPECT_TRUE(holds(yaml_error("a: \xe4\xb8"), "not UTF-8"));
    EXPECT_TRUE(holds(yaml_error(std::string{"a: \0b", 5}),
                      "U+0000 NULL, which is not allowed in a document"));
    EXPECT_TRUE(holds(yaml_error("a: \x1b[31m"), "U+001B ESCAPE"));
    EXPECT_TRUE(holds(yaml_error("a: \"\\0\""), "U+0000 NULL"));
    EXPECT_TRUE(holds(yaml_error("\"\\x07\": 1"), "U+0007 BELL"));
}

TEST(Yaml, a_character_that_starts_no_token_ends_the_reading) {
    EXPECT_TRUE(holds(yaml_error(","), "line 1, column 1: this character cannot start a value"));
    EXPECT_TRUE(holds(yaml_error("a: 1\n---\n]"), "line 3, column 1"));
    EXPECT_NE(yaml_error("}"), "no error");
    EXPECT_NE(yaml_error("- !+(.,.)"), "no error");
    EXPECT_NE(yaml_error("[:"), "no error");
    EXPECT_NE(yaml_error("{:"), "no error");
    EXPECT_NE(yaml_error("{# ke\ny{:"), "no error");
}

TEST(Yaml, a_quoted_text_must_be_closed) {
    for (const char* text : {"a: \"abc", "a: 'abc\n", "a: &x \"abc\n", "a: 'it''s", "- \"a\\\""}) {
        EXPECT_TRUE(holds(yaml_error(text), "a quoted text is not closed")) << text;
    }
    EXPECT_EQ(yaml("['it''s', \"a\\\"b\", '']"), json({"it's", "a\"b", ""}));
}

TEST(Yaml, syntax_errors_say_what_to_change_and_where) {
    const std::string tab = yaml_error("job:\n\tname: a\n");
    EXPECT_TRUE(holds(tab, "line 2, column 1: a TAB cannot indent YAML; use spaces")) << tab;
    const std::string backtick = yaml_error("command: [\"a\", \"b\"]`\nport: 1\n");
    EXPECT_TRUE(holds(backtick, "line 1, column 20: a stray backtick")) << backtick;
    const std::string bracket = yaml_error("a: [1, 2\nb: 3\n");
    EXPECT_TRUE(holds(bracket, "a [ is not closed")) << bracket;
    const std::string quote = yaml_error("a: \"abc\n");
    EXPECT_TRUE(holds(quote, "a quoted text is not closed")) << quote;
    const std::string colon = yaml_error("a: b: c\n");
    EXPECT_TRUE(holds(colon, "line 1, column 5: a ':' is not allowed here")) << colon;
    EXPECT_TRUE(holds(yaml_error("a: !thing 1"), "the tag !thing is not supported"));
    EXPECT_TRUE(holds(yaml_error("a: @x"), "stray @"));
}

TEST(Json, is_read_with_the_same_bounds_and_places) {
    const auto parsed = parse_json("{\"a\": 1,\n \"b\\\"\": [true, null, 1.50, \"x\"]}");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->root, json({{"a", 1}, {"b\"", {true, nullptr, 1.5, "x"}}}));
    const auto at = [&](const std::string& pointer) {
        const Place place = parsed->place_of(pointer);
        return std::to_string(place.line) + ":" + std::to_string(place.column);
    };
    EXPECT_EQ(at("/a"), "1:2");
    EXPECT_EQ(at("/b\""), "2:2");
    EXPECT_EQ(at("/b\"/0"), "2:10");
    EXPECT_EQ(at("/b\"/1"), "2:16");
    EXPECT_EQ(at("/b\"/2"), "2:22");
    EXPECT_EQ(at("/b\"/3"), "2:28");
    EXPECT_EQ(parsed->text_of("/b\"/2", parsed->root["b\""][2]), "1.50");
}

TEST(Json, bad_input_is_refused_with_its_place) {
    EXPECT_TRUE(holds(json_error("{\"a\": 1,\n \"a\": 2}"),
                      "line 2, column 2: the key \"a\" is already given at line 1, column 2"));
    EXPECT_TRUE(holds(json_error("{\"a\": 1,\n \"b\": }"), "line 2, column 7"));
    EXPECT_TRUE(holds(json_error(""), "unexpected end of input"));
    EXPECT_TRUE(holds(json_error("{} x"), "line 1, column 4"));
    EXPECT_TRUE(holds(json_error("[1,]"), "line 1, column 4"));
    EXPECT_TRUE(holds(json_error("{\"a\": 1 // comment\n}"), "line 1"));
    EXPECT_TRUE(holds(json_error(std::string(65, '[') + std::string(65, ']')), "deeper than 64"));
    EXPECT_TRUE(holds(json_error(std::string(1'000'000, '[')), "deeper than 64"));
    EXPECT_TRUE(holds(json_error("[18446744073709551616]"), "is out of range: numbers have"));
    EXPECT_TRUE(holds(json_error("[1e999]"), "line 1"));
    EXPECT_TRUE(holds(json_error("[\"\\u0000\"]"), "U+0000 NULL"));
    EXPECT_TRUE(holds(json_error("[\"\\ud800\"]"), "line 1"));
    EXPECT_TRUE(holds(json_error("[\"\xff\"]"), "not UTF-8"));
    EXPECT_TRUE(holds(json_error("[NaN]"), "line 1"));
    DocumentLimits limits;
    limits.nodes_max = 5;
    EXPECT_TRUE(holds(json_error("[1,2,3,4,5]", limits), "more than 5 values"));
}

rc::Gen<json> any_json(int depth) {
    return rc::gen::exec([depth] {
        const auto text = rc::gen::container<std::string>(
            rc::gen::elementOf(std::string{"abcXYZ019 -_:#,[]{}'\"\\/&*!|>%@`~?.\n\t"}));
        // Invisible characters are refused in keys.
        const auto key = rc::gen::container<std::string>(
            rc::gen::elementOf(std::string{"abcXYZ019 -_:#,[]{}'\"\\/&*!|>%@`~?."}));
        switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
            case 0:
                return json(nullptr);
            case 1:
                return json(*rc::gen::arbitrary<bool>());
            case 2:
                return json(*rc::gen::arbitrary<std::int64_t>());
            case 3:
                return json(*rc::gen::inRange(-1000, 1000) / 8.0);
            case 4:
                return json(*text);
            case 5: {
                json list = json::array();
                const int size = *rc::gen::inRange(0, 4);
                for (int i = 0; i < size; ++i) list.push_back(*any_json(depth - 1));
                return list;
            }
            default: {
                json map = json::object();
                const int size = *rc::gen::inRange(0, 4);
                for (int i = 0; i < size; ++i) map[*key] = *any_json(depth - 1);
                return map;
            }
        }
    });
}

RC_GTEST_PROP(Json, every_value_is_read_as_it_was_written_and_every_member_has_a_place, ()) {
    const json value = *any_json(4);
    const auto parsed = parse_json(value.dump(*rc::gen::inRange(-1, 3)));
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(parsed->root == value);
    std::size_t members = 1;
    const std::function<void(const json&)> count = [&](const json& at) {
        for (const json& member : at) {
            ++members;
            if (member.is_structured()) count(member);
        }
    };
    if (value.is_structured()) count(value);
    RC_ASSERT(parsed->places.size() == members);
}

RC_GTEST_PROP(Yaml, json_is_yaml, ()) {
    const json value = *any_json(3);
    const auto parsed = parse_yaml("- " + value.dump());
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(parsed->at(0).root == json::array({value}));
}

RC_GTEST_PROP(Yaml, any_text_gets_an_answer, ()) {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string{"ab1:: \n\n\t-[]{},'\"&*!|>%@`#?~.\\\xe4\xb8\xad<"}));
    const auto yaml_result = parse_yaml(text);
    if (yaml_result.has_error()) RC_ASSERT(!yaml_result.error().message.empty());
    const auto json_result = parse_json(text);
    if (json_result.has_error()) RC_ASSERT(!json_result.error().message.empty());
}

TEST(NearestName, finds_a_typing_mistake_and_no_distant_name) {
    const std::vector<std::string> known = {"gpuType", "gpuShare", "memory", "cpu", "pool"};
    EXPECT_EQ(nearest_name("gpu-tpye", known), "gpuType");
    EXPECT_EQ(nearest_name("memroy", known), "memory");
    EXPECT_EQ(nearest_name("GPU_SHARE", known), "gpuShare");
    EXPECT_EQ(nearest_name("cpus", known), "cpu");
    EXPECT_EQ(nearest_name("xyz", known), "");
    EXPECT_EQ(nearest_name("", known), "");
    EXPECT_EQ(nearest_name(std::string(10'000, 'a'), known), "");
}

}  // namespace
}  // namespace gpuctl::wire
