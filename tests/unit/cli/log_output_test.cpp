// The output of a followed log: on a terminal, and in a pipe.

#include "cli/logs/log_output.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/output.hpp"
#include "text/screen_line.hpp"

namespace gpuctl::cli {
namespace {

using std::chrono::milliseconds;

class LogOutputTest : public testing::Test {
protected:
    LogOutput terminal(bool names_pods = false) {
        return {
            out_, err_, {true, names_pods, [this] { return columns_; }, [this] { return now_; }}};
    }
    LogOutput pipe(bool names_pods = false) {
        return {out_, err_, {false, names_pods, nullptr, [this] { return now_; }}};
    }
    // The lines a terminal shows of all that was printed.
    std::vector<std::string> screen() {
        std::vector<std::string> lines;
        std::istringstream stream{out_.str()};
        for (std::string line; std::getline(stream, line);) lines.push_back(text::on_screen(line));
        return lines;
    }

    std::ostringstream out_;
    std::ostringstream err_;
    std::size_t columns_ = 40;
    std::chrono::steady_clock::time_point now_{};
};

using Lines = std::vector<std::string>;

TEST_F(LogOutputTest, a_terminal_draws_an_unfinished_line_in_place) {
    LogOutput output = terminal();
    output.line("p", "before");
    output.partial("p", "10%|#    |", true);
    EXPECT_EQ(screen(), (Lines{"before", "10%|#    |"}));
    output.partial("p", "90%", true);
    EXPECT_EQ(screen(), (Lines{"before", "90%"})) << "nothing of the longer one is left";
    output.line("p", "100%|#####|");
    output.line("p", "after");
    EXPECT_EQ(screen(), (Lines{"before", "100%|#####|", "after"}));
    output.end();
    EXPECT_EQ(screen().size(), 3u);
}

TEST_F(LogOutputTest, what_is_drawn_never_takes_more_than_a_line) {
    LogOutput output = terminal();
    columns_ = 11;
    output.partial("p", "100%|##########| 300/300", true);
    EXPECT_EQ(screen().back(), "100%|#####") << "of a bar its beginning";
    output.partial("p", "Loading the very last part", false);
    EXPECT_EQ(screen().back(), "<last part") << "of a line that grows its end";
    output.partial("p", "\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587", true);
    EXPECT_LE(display_width(screen().back()), 10u);
    columns_ = 0;
    output.partial("p", "x", true);
    output.partial("p", "\x1b[2J\x1b]0;title\x07harmless", true);
    EXPECT_EQ(out_.str().find("\x1b[2J"), std::string::npos);
}

TEST_F(LogOutputTest, notes_do_not_mix_with_what_is_drawn) {
    LogOutput output = terminal();
    output.partial("p", "50%", true);
    output.print_note("3 lines were dropped");
    EXPECT_EQ(err_.str(), "gpuctl: 3 lines were dropped\n");
    EXPECT_EQ(screen(), Lines{""}) << "an empty line, on which the note begins";
    output.partial("p", "60%", true);
    output.end();
    EXPECT_TRUE(out_.str().ends_with("60%\n")) << "the shell's prompt comes on a line of its own";
}

TEST_F(LogOutputTest, a_pipe_gets_a_bar_as_a_line_at_most_each_second) {
    LogOutput output = pipe();
    for (int percent = 0; percent <= 100; percent += 5) {
        output.partial("p", std::to_string(percent) + "%", true);
        now_ += milliseconds{250};
    }
    EXPECT_EQ(out_.str(), "0%\n20%\n40%\n60%\n80%\n100%\n");
    output.line("p", "100%");
    EXPECT_EQ(out_.str(), "0%\n20%\n40%\n60%\n80%\n100%\n") << "it is a line already";
    output.line("p", "100%");
    EXPECT_TRUE(out_.str().ends_with("100%\n100%\n")) << "but another line of that text is another";
}

TEST_F(LogOutputTest, a_pipe_gets_complete_lines_of_growing_text) {
    LogOutput output = pipe();
    output.partial("p", "Load", false);
    now_ += milliseconds{5'000};
    output.partial("p", "Loading", false);
    output.line("p", "Loading done");
    output.end();
    EXPECT_EQ(out_.str(), "Loading done\n");
    EXPECT_EQ(out_.str().find('\r'), std::string::npos);
}

TEST_F(LogOutputTest, a_bar_that_does_not_move_is_printed_once_and_each_pod_by_itself) {
    LogOutput output = pipe(true);
    for (int i = 0; i < 10; ++i) {
        output.partial("a", "50%", true);
        output.partial("b", "70%", true);
        now_ += milliseconds{500};
    }
    output.line("b", "done");
    EXPECT_EQ(out_.str(), "[a] 50%\n[b] 70%\n[b] done\n");
}

}  // namespace
}  // namespace gpuctl::cli
