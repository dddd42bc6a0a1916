// Invisible characters, and tokens, which must not contain any.

#include "text/characters.hpp"

#include <gtest/gtest.h>

#include "text/token.hpp"

namespace gpuctl::text {
namespace {

TEST(Characters, that_are_invisible_are_named_by_code_point) {
    const struct {
        const char* text;
        const char* name;
    } table[] = {
        {"a\u200b", "U+200B ZERO WIDTH SPACE"},
        {"\u00a0", "U+00A0 NO-BREAK SPACE"},
        {"\ufeffkind", "U+FEFF ZERO WIDTH NO-BREAK SPACE (byte order mark)"},
        {"\u00ad", "U+00AD SOFT HYPHEN"},
        {"\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"},
        {"\u2066", "U+2066 LEFT-TO-RIGHT ISOLATE"},
        {"\u2028", "U+2028 LINE SEPARATOR"},
        {"\u2029", "U+2029 PARAGRAPH SEPARATOR"},
        {"\u3000", "U+3000 IDEOGRAPHIC SPACE"},
        {"\u2007", "U+2007 FIGURE SPACE"},
        {"\u202f", "U+202F NARROW NO-BREAK SPACE"},
        {"\u200d", "U+200D ZERO WIDTH JOINER"},
        {"\u2060", "U+2060 WORD JOINER"},
        {"\u0085", "U+0085 NEXT LINE"},
        {"\u009b", "U+009B CONTROL CHARACTER"},
        {"\x1b[0m", "U+001B ESCAPE"},
        {"\x7f", "U+007F DELETE"},
        {"\t", "U+0009 CHARACTER TABULATION"},
        {"\ufe0f", "U+FE0F VARIATION SELECTOR"},
        {"\U000e0041", "U+E0041 TAG CHARACTER"},
        {"\u3164", "U+3164 HANGUL FILLER"},
    };
    for (const auto& row : table) {
        const auto found = first_invisible(row.text);
        ASSERT_TRUE(found) << row.name;
        EXPECT_EQ(to_string(*found), row.name);
    }
}

TEST(Characters, that_are_visible_are_accepted) {
    for (const char* text : {"", "llm-sft", "a b", "\u00fc\u4e2d\u6587\u30c6", "\u00a1\u00ac\u00ae",
                             "\U0001f600", "\u2010\u2027\u2030", "\xff\xfe", "\xe2\x80"}) {
        EXPECT_FALSE(first_invisible(text)) << text;
        EXPECT_EQ(problem_with_invisible(text), "");
    }
}

TEST(Characters, that_scripts_need_are_allowed_in_scripts) {
    EXPECT_FALSE(
        first_invisible("for i in 1\n\tdo\r\n\U0001f469\u200d\U0001f4bb\ufe0f", Where::script));
    const auto found = first_invisible("python\u00a0train.py", Where::script);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->offset, 6u);
    EXPECT_EQ(found->bytes_of, "\u00a0");
}

TEST(Characters, the_first_is_reported_with_its_position_in_characters) {
    EXPECT_EQ(problem_with_invisible("\u00fcb\u200b\u00a0"),
              "contains U+200B ZERO WIDTH SPACE (character 3); remove it");
}

TEST(Utf8, is_decoded_and_invalid_bytes_are_not) {
    EXPECT_EQ(decode_utf8("\u20ac", 0).code, 0x20acu);
    EXPECT_EQ(decode_utf8("\U0010ffff", 0).bytes, 4u);
    for (const char* text : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                             "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x9f\x98"}) {
        EXPECT_EQ(decode_utf8(text, 0).bytes, 0u);
    }
}

std::string parsed_token(std::string_view content) {
    const Result<std::string> token = token_of_file(content);
    return token ? "token " + *token : token.error().message;
}

TEST(Token, of_a_file_is_its_first_word_and_one_line_end_may_follow) {
    EXPECT_EQ(parsed_token("s3cret"), "token s3cret");
    EXPECT_EQ(parsed_token("s3cret\n"), "token s3cret");
    EXPECT_EQ(parsed_token("s3cret\r\n"), "token s3cret");
    EXPECT_EQ(parsed_token("s3cret admin adam\n"), "token s3cret");
    EXPECT_EQ(parsed_token("a.b-c_d~e+f/g==\n"), "token a.b-c_d~e+f/g==");
    EXPECT_EQ(parsed_token(""), "contains no token");
    EXPECT_EQ(parsed_token("\n"), "contains no token");
    EXPECT_NE(parsed_token("\ns3cret\n").find("more than one line"), std::string::npos);
    EXPECT_NE(parsed_token("s3cret\n\n").find("more than one line"), std::string::npos);
    EXPECT_NE(parsed_token(" s3cret\n").find("begins with a blank"), std::string::npos);
    EXPECT_NE(parsed_token("s3c\rret\n").find("U+000D CARRIAGE RETURN (character 4)"),
              std::string::npos);
    EXPECT_NE(parsed_token("\ufeffs3cret\n").find("byte order mark"), std::string::npos);
    EXPECT_NE(parsed_token("s3cr\u00e9t\n").find("beyond ASCII (character 5)"), std::string::npos);
}

TEST(Token, is_quoted_in_no_message) {
    for (std::string token : {"s3cret\n", "s3cret\r", "s3\tcret", "s3 cret", "s3cret\u200b",
                              "s3cret\u00e9", "\x01s3cret", ""}) {
        const std::string problem = problem_with_token(token);
        EXPECT_NE(problem, "") << token;
        EXPECT_EQ(problem.find("s3"), std::string::npos) << problem;
        EXPECT_EQ(problem.find("cret"), std::string::npos) << problem;
    }
    EXPECT_EQ(problem_with_token("s3cret-ok"), "");
}

}  // namespace
}  // namespace gpuctl::text
