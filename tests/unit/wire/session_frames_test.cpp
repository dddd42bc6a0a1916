#include "wire/session_frames.hpp"

#include <gtest/gtest.h>

namespace gpuctl::wire {
namespace {

TEST(SessionFrames, the_first_byte_is_the_channel_and_the_rest_is_unchanged) {
    const std::string bytes("\0\xff\n", 3);
    const std::string message = session_frame(SessionChannel::output, bytes);
    EXPECT_EQ(message, "\x01" + bytes);
    const auto frame = read_session_frame(message);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->channel, SessionChannel::output);
    EXPECT_EQ(frame->bytes, bytes);
}

TEST(SessionFrames, an_empty_message_and_unknown_channels_are_no_frames) {
    EXPECT_FALSE(read_session_frame(""));
    EXPECT_FALSE(read_session_frame("\x06"));
    EXPECT_FALSE(read_session_frame("\xff"));
}

TEST(SessionFrames, sizes_of_terminals_are_read_back_and_others_refused) {
    const TerminalSize size{132, 43};
    EXPECT_EQ(read_terminal_size(terminal_size_json(size)), size);
    for (const char* bad : {"", "{}", "[]", R"({"columns":-1,"rows":2})",
                            R"({"columns":65536,"rows":2})", R"({"columns":"8","rows":2})"}) {
        EXPECT_FALSE(read_terminal_size(bad)) << bad;
    }
}

TEST(SessionFrames, an_outcome_is_an_exit_code_or_an_error_with_its_code) {
    EXPECT_EQ(read_session_outcome(session_outcome_json(3)).value(), 3);
    const Result<std::int32_t> failed = read_session_outcome(
        session_outcome_json(make_error(ErrorCode::NotFound, "the pod is gone")));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::NotFound);
    EXPECT_EQ(failed.error().message, "the pod is gone");
    EXPECT_FALSE(read_session_outcome("nonsense"));
}

}  // namespace
}  // namespace gpuctl::wire
