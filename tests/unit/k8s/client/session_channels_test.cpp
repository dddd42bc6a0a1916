// The channels of exec, attach and portforward.

#include "k8s/client/session_channels.hpp"

#include <gtest/gtest.h>

namespace gpuctl::k8s {
namespace {

using Kind = ports::SessionOutput::Kind;

ports::SessionInput input_of_kind(ports::SessionInput::Kind kind, std::string bytes = "") {
    ports::SessionInput input;
    input.kind = kind;
    input.bytes = std::move(bytes);
    input.columns = 80;
    input.rows = 24;
    return input;
}

TEST(SessionChannels, input_goes_to_channel_0_and_its_end_is_said_where_the_protocol_can) {
    using In = ports::SessionInput::Kind;
    const auto bytes = input_of_kind(In::bytes, "ls\n");
    EXPECT_EQ(to_message(SessionProtocol::v5, bytes), std::string("\0ls\n", 4));
    EXPECT_EQ(to_message(SessionProtocol::port_forward, bytes), std::string("\0ls\n", 4));
    EXPECT_EQ(to_message(SessionProtocol::v5, input_of_kind(In::end)), std::string("\xff\0", 2));
    EXPECT_FALSE(to_message(SessionProtocol::v4, input_of_kind(In::end)));
    EXPECT_EQ(to_message(SessionProtocol::v4, input_of_kind(In::terminal_size)),
              "\x04{\"Width\":80,\"Height\":24}");
}

TEST(SessionChannels, output_and_errors_are_separate_and_opening_messages_mean_nothing) {
    SessionMessages messages{SessionProtocol::v5, "exec in pod a/b"};
    for (const char* opening : {"\x01", "\x02", "\x03"}) {
        const auto read = messages.read(opening);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_FALSE(read->has_value());
    }
    const auto output = messages.read("\x01out");
    ASSERT_TRUE(output && output->has_value());
    EXPECT_EQ((*output)->kind, Kind::bytes);
    EXPECT_EQ((*output)->bytes, "out");
    const auto errors = messages.read("\x02no");
    ASSERT_TRUE(errors && errors->has_value());
    EXPECT_EQ((*errors)->kind, Kind::error_bytes);
    EXPECT_FALSE(messages.read("\x09x"));
    EXPECT_FALSE(messages.read(""));
}

TEST(SessionChannels, the_outcome_has_the_exit_code_or_what_the_node_says) {
    SessionMessages messages{SessionProtocol::v5, "exec in pod a/b"};
    const auto fine = messages.read("\x03{\"status\":\"Success\"}");
    ASSERT_TRUE(fine && fine->has_value());
    EXPECT_EQ((*fine)->kind, Kind::ended);
    EXPECT_EQ((*fine)->exit_code, 0);
    const auto three = messages.read(
        "\x03{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":"
        "[{\"reason\":\"ExitCode\",\"message\":\"3\"}]}}");
    ASSERT_TRUE(three && three->has_value());
    EXPECT_EQ((*three)->exit_code, 3);
    EXPECT_FALSE((*three)->failed);
    const auto refused =
        messages.read("\x03{\"status\":\"Failure\",\"message\":\"no such container\"}");
    ASSERT_TRUE(refused && refused->has_value());
    ASSERT_TRUE((*refused)->failed);
    EXPECT_NE((*refused)->failed->message.find("no such container"), std::string::npos);
    EXPECT_TRUE(messages.closed().failed) << "an end without an exit code is no success";
}

TEST(SessionChannels, a_forwarded_port_loses_its_number_however_it_is_cut) {
    SessionMessages messages{SessionProtocol::port_forward, "forward"};
    const auto half = messages.read(std::string("\0\x50", 2));
    ASSERT_TRUE(half);
    EXPECT_FALSE(half->has_value());
    const auto rest = messages.read(std::string("\0\0hello", 7));
    ASSERT_TRUE(rest && rest->has_value());
    EXPECT_EQ((*rest)->bytes, "hello");
    ASSERT_TRUE(messages.read(std::string("\x01\x50\0", 3)));
    const auto failed = messages.read(
        "\x01"
        "connection refused");
    ASSERT_TRUE(failed && failed->has_value());
    EXPECT_NE((*failed)->failed->message.find("connection refused"), std::string::npos);
    EXPECT_FALSE(messages.closed().failed) << "a connection may just end";
}

TEST(SessionChannels, the_path_holds_each_word_of_the_command) {
    ports::SessionRequest request;
    request.pod = {"team-a", "llm-0"};
    request.container = "main";
    request.command = {"sh", "-c", "echo a&b"};
    request.has_input = true;
    EXPECT_EQ(session_path(request),
              "/api/v1/namespaces/team-a/pods/llm-0/exec?container=main&stdout=true&stdin=true"
              "&stderr=true&command=sh&command=-c&command=echo%20a%26b");
    request.has_terminal = true;
    EXPECT_EQ(session_path(request).find("stderr"), std::string::npos)
        << "a terminal has one stream";
    request.kind = ports::SessionKind::port_forward;
    request.port = 8080;
    EXPECT_EQ(session_path(request), "/api/v1/namespaces/team-a/pods/llm-0/portforward?ports=8080");
}

TEST(SessionChannels, only_a_protocol_that_was_offered_is_used) {
    EXPECT_EQ(protocol_of(ports::SessionKind::exec, "v5.channel.k8s.io"), SessionProtocol::v5);
    EXPECT_EQ(protocol_of(ports::SessionKind::attach, "v4.channel.k8s.io"), SessionProtocol::v4);
    EXPECT_FALSE(protocol_of(ports::SessionKind::exec, ""));
    EXPECT_FALSE(protocol_of(ports::SessionKind::port_forward, "v5.channel.k8s.io"));
}

}  // namespace
}  // namespace gpuctl::k8s
