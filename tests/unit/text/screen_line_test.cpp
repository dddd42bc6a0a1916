// Lines in the form in which a terminal shows them.

#include "text/screen_line.hpp"

#include <gtest/gtest.h>

namespace gpuctl::text {
namespace {

TEST(ScreenLine, shows_the_text_that_overwrites) {
    const struct {
        const char* written;
        const char* seen;
    } table[] = {
        {"plain", "plain"},
        {"", ""},
        {"10%\r20%\r30%", "30%"},
        {"10%|#   |\r", "10%|#   |"},
        {"\r 5%\r 6%", " 6%"},
        {"100%|####|\rdone", "done|####|"},
        {"100%|####|\rdone\x1b[K", "done"},
        {"100%|####|\r          \rdone", "done"},
        {"100%|####|\x1b[2K\rdone", "done"},
        {"abc\b\bX", "aXc"},
        {"\b\bx", "x"},
        {"\x1b[32mgreen\x1b[0m", "green"},
        {"\x1b[1;31mred\x1b[m and \x1b[38;5;7mgrey", "red and grey"},
        {"a\x1b[5Gb", "a   b"},
        {"abc\x1b[2DX", "aXc"},
        {"ab\x1b[1CX", "ab X"},
        {"\x1b]0;a title\x07text", "text"},
        {"\x1b]8;;http://x\x1b\\link", "link"},
        {"\x1b[A\x1b[2Aup", "up"},
        {"a\tb", "a       b"},
        {"\u00fc\u4e2d\r\u00e4", "\u00e4\u4e2d"},
        {"bad \xff byte", "bad \ufffd byte"},
        {"trailing   ", "trailing"},
        {"bell\x07", "bell"},
    };
    for (const auto& row : table) {
        ScreenLine whole;
        whole.feed(row.written);
        EXPECT_EQ(whole.text(), row.seen) << row.seen;
        ScreenLine in_pieces;
        for (const char* c = row.written; *c != '\0'; ++c) in_pieces.feed({c, 1});
        EXPECT_EQ(in_pieces.text(), row.seen) << "byte by byte: " << row.seen;
    }
}

TEST(ScreenLine, redraws_only_overwritten_text) {
    const auto redrawn = [](std::string_view written) {
        ScreenLine line;
        line.feed(written);
        return line.was_redrawn();
    };
    EXPECT_FALSE(redrawn("loading ....."));
    EXPECT_FALSE(redrawn("10%\r"));
    EXPECT_FALSE(redrawn("\rfirst"));
    EXPECT_TRUE(redrawn("10%\r2"));
    EXPECT_TRUE(redrawn("ab\bc"));
}

TEST(ScreenLine, keeps_the_newest_part_of_a_line_without_end) {
    ScreenLine line;
    for (int i = 0; i < 100'000; ++i) line.feed(std::to_string(i % 10));
    line.feed("end");
    const std::string text = line.text();
    EXPECT_LE(text.size(), 4'096u);
    EXPECT_TRUE(text.ends_with("6789end")) << text.substr(text.size() - 20);
    line.feed("\x1b[999999999C!");
    EXPECT_LE(line.text().size(), 4'096u);
    line.feed("\x1b[" + std::string(1'000'000, '9') + "G!");
    EXPECT_LE(line.text().size(), 4'097u);
    line.clear();
    EXPECT_EQ(line.text(), "");
}

TEST(OnScreen, a_line_without_cursor_movement_is_unchanged) {
    EXPECT_EQ(on_screen("a  b\t "), "a  b\t ");
    EXPECT_EQ(on_screen("0%\r100%"), "100%");
}

}  // namespace
}  // namespace gpuctl::text
