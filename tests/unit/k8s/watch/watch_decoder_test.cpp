#include "k8s/watch/watch_decoder.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gpuctl::k8s {
namespace {

std::vector<std::string> read_all(WatchDecoder& decoder, std::string_view bytes, std::size_t chunk,
                                  std::string& error) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
        decoder.buffer().append(bytes.substr(at, chunk));
        for (;;) {
            auto frame = decoder.next();
            if (!frame) {
                error = frame.error().message;
                return out;
            }
            if (!frame->has_value()) break;
            out.push_back(std::to_string(static_cast<int>((*frame)->type)) + " " +
                          std::string{(*frame)->object});
        }
    }
    return out;
}

TEST(WatchDecoder, frames_are_the_same_however_the_bytes_are_cut) {
    const std::string bytes =
        "{\"type\":\"ADDED\",\"object\":{\"a\":\"\\n}\"}}\n\n"
        "{\"object\":{\"b\":[1]},\"type\":\"MODIFIED\"}\r\n"
        " {\"type\" : \"DELETED\", \"object\" : {} }\n"
        "{\"type\":\"BOOKMARK\",\"object\":{\"c\":{\"d\":2}}}\n"
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\"}}\n";
    const std::vector<std::string> expected = {R"(0 {"a":"\n}"})", R"(1 {"b":[1]})", "2 {}",
                                               R"(3 {"c":{"d":2}})", R"(4 {"kind":"Status"})"};
    for (std::size_t chunk = 1; chunk <= bytes.size(); ++chunk) {
        WatchDecoder decoder;
        std::string error;
        EXPECT_EQ(read_all(decoder, bytes, chunk, error), expected) << chunk;
        EXPECT_EQ(error, "") << chunk;
        EXPECT_EQ(decoder.bytes_pending(), 0u);
    }
}

TEST(WatchDecoder, half_a_frame_stays_pending) {
    WatchDecoder decoder;
    decoder.buffer() += "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"ADD";
    EXPECT_TRUE(decoder.next()->has_value());
    EXPECT_FALSE(decoder.next()->has_value());
    EXPECT_EQ(decoder.bytes_pending(), 12u);
}

TEST(WatchDecoder, garbage_and_endless_frames_are_errors) {
    for (const std::string text :
         {"<html>\n", "{\"type\":\"NEW\",\"object\":{}}\n", "{\"type\":\"ADDED\"}\n",
          "{\"type\":\"ADDED\",\"object\":3}\n", "null\n"}) {
        WatchDecoder decoder;
        decoder.buffer() += text;
        auto frame = decoder.next();
        ASSERT_FALSE(frame) << text;
        EXPECT_EQ(frame.error().code, ErrorCode::ProtocolError);
    }
    WatchDecoder small{100};
    small.buffer() += std::string(101, 'x');
    EXPECT_FALSE(small.next());
}

TEST(WatchDecoder, a_long_stream_does_not_pile_up) {
    WatchDecoder decoder;
    const std::string frame =
        "{\"type\":\"ADDED\",\"object\":{\"x\":\"" + std::string(1000, 'y') + "\"}}\n";
    for (int i = 0; i < 5'000; ++i) {
        decoder.buffer() += frame + frame.substr(0, 10);
        ASSERT_TRUE(decoder.next()->has_value());
        ASSERT_FALSE(decoder.next()->has_value());
        decoder.buffer() += frame.substr(10);
        ASSERT_TRUE(decoder.next()->has_value());
    }
    EXPECT_LT(decoder.buffer().size(), 1u << 20);
}

std::string read_list(std::string_view bytes, std::size_t chunk, ListDecoder& decoder) {
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
        decoder.buffer().append(bytes.substr(at, chunk));
        for (;;) {
            auto item = decoder.next();
            if (!item) return "error: " + item.error().message;
            if (!item->has_value()) break;
            out += std::string{**item} + "|";
        }
    }
    return out;
}

TEST(ListDecoder, items_and_metadata_are_the_same_however_the_bytes_are_cut) {
    const std::string bytes =
        R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"77","continue":"a\"b"},)"
        R"( "items" : [ {"metadata":{"name":"}]"}} , {"n":{"items":[{}]}},{}], "more": 12 , "last":true})"
        "\n";
    for (std::size_t chunk = 1; chunk <= bytes.size(); ++chunk) {
        ListDecoder decoder;
        EXPECT_EQ(read_list(bytes, chunk, decoder),
                  R"({"metadata":{"name":"}]"}}|{"n":{"items":[{}]}}|{}|)")
            << chunk;
        EXPECT_TRUE(decoder.complete());
        EXPECT_TRUE(decoder.has_items());
        EXPECT_EQ(decoder.resource_version(), "77");
        EXPECT_EQ(decoder.continue_token(), "a\"b");
    }
}

TEST(ListDecoder, metadata_may_come_after_the_items) {
    ListDecoder decoder;
    EXPECT_EQ(read_list(R"({"items":[{}],"metadata":{"resourceVersion":"3"}})", 1000, decoder),
              "{}|");
    EXPECT_EQ(decoder.resource_version(), "3");
}

TEST(ListDecoder, an_empty_list_may_say_null) {
    ListDecoder decoder;
    EXPECT_EQ(read_list(R"({"metadata":{"resourceVersion":"3"},"items":null})", 7, decoder), "");
    EXPECT_TRUE(decoder.complete());
    EXPECT_TRUE(decoder.has_items());
}

TEST(ListDecoder, a_document_that_is_no_list_is_refused_or_incomplete) {
    for (const char* text : {"<html>", "[1]", "{\"items\":[1]}", "{,}x", "{\"a\" 1}", "{}{"}) {
        ListDecoder decoder;
        EXPECT_EQ(read_list(text, 1000, decoder).substr(0, 6), "error:") << text;
    }
    ListDecoder cut;
    EXPECT_EQ(read_list(R"({"items":[{"a":)", 1000, cut), "");
    EXPECT_FALSE(cut.complete());
    ListDecoder small{100};
    EXPECT_EQ(read_list("{\"items\":[{\"a\":\"" + std::string(200, 'x'), 50, small).substr(0, 6),
              "error:");
}

}  // namespace
}  // namespace gpuctl::k8s
