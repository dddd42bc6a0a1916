// Servers that answer garbage, break off, fall silent or fail repeatedly.

#include <atomic>
#include <chrono>
#include <string>

#include "unit/k8s/watch/informer_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;

TEST_F(InformerTest, garbage_in_the_stream_is_answered_with_a_relist) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        reply.begin_chunked();
        switch (++watches) {
            case 1:
                reply.chunk("<html>\n");
                break;
            case 2:
                reply.chunk("{\"type\":\"ADDED\",\"object\":{}}\n");
                break;
            case 3:
                reply.raw("no chunk size\r\n");
                break;
            default:
                break;
        }
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return watches == 4; }));
    EXPECT_EQ(asked(),
              (Story{"list", "watch 10", "list", "watch 10", "list", "watch 10", "watch 10"}));
}

TEST_F(InformerTest, lists_that_are_garbage_slow_or_cut_are_requested_again) {
    static std::atomic<int> lists;  // the server's threads outlive this frame
    lists = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (request.has_query("watch")) {
            reply.begin_chunked();
            return reply.stall();
        }
        const std::string whole = list(10, {pod("a", "u1", 5)});
        switch (++lists) {
            case 1:
                return reply.respond(200, "<html>");
            case 2:
                return reply.respond(200, R"({"kind":"Status","status":"Failure","code":500})");
            case 3:
                return reply.respond(500, "oops");
            case 4:
                return reply.respond(429, "", {{"Retry-After", "0"}});
            case 5:
                reply.begin_chunked();
                reply.chunk(whole.substr(0, whole.size() / 2));
                return reply.cut();
            case 6:
                reply.begin_chunked();
                reply.chunk(whole.substr(0, whole.size() / 2));
                return reply.end_chunked();
            case 7:
                return reply.cut();
            default:
                reply.begin_chunked();
                for (const char c : whole) reply.chunk(std::string(1, c));
                reply.end_chunked();
        }
    });
    ASSERT_TRUE(wait_for([&] { return witness.synced == 1; }));
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "synced"}));
    EXPECT_GE(informer->figures().watch_errors, 7u);
}

TEST_F(InformerTest, a_silent_watch_is_given_up_and_resumed_without_a_relist) {
    InformerSettings settings;
    settings.path = "/api/v1/pods";
    settings.watch_list = false;
    tune(settings);
    settings.silence_max = milliseconds{50};
    begin(
        [](const SeenRequest& request, Reply& reply) {
            if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
            reply.begin_chunked();
            reply.stall();
        },
        settings);
    ASSERT_TRUE(wait_for([&] { return informer->figures().silences >= 2; }));
    EXPECT_EQ(informer->figures().lists, 1u);
    EXPECT_EQ(informer->figures().watch_errors, 0u);
    EXPECT_EQ(asked().at(2), "watch 10");
}

TEST_F(InformerTest, a_watch_that_closes_at_once_counts_as_an_error) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        reply.begin_chunked();
        if (++watches > 2) return reply.stall();
        reply.end_chunked();
    });
    ASSERT_TRUE(wait_for([&] { return watches == 3; }));
    EXPECT_EQ(informer->figures().watch_errors, 2u);
    EXPECT_EQ(informer->figures().lists, 1u);
}

TEST_F(InformerTest, a_version_from_the_future_waits_and_lists_again) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        if (++watches == 1) {
            return reply.respond(504, R"({"kind":"Status","reason":"Timeout","code":504,
                "details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})");
        }
        reply.begin_chunked();
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return watches == 2; }));
    EXPECT_EQ(asked(), (Story{"list", "watch 10", "list", "watch 10"}));
}

TEST_F(InformerTest, an_error_that_repeats_leads_to_a_relist) {
    static std::atomic<int> lists;  // the server's threads outlive this frame
    lists = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) {
            ++lists;
            return reply.respond(200, list(10, {}));
        }
        reply.begin_chunked();
        if (lists == 2) return reply.stall();
        reply.chunk(frame("ERROR", R"({"kind":"Status","reason":"InternalError","code":500})"));
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return lists == 2; }));
    EXPECT_EQ(asked().at(5), "watch 10");
    EXPECT_EQ(asked().at(6), "list") << "after five watches that failed alike";
}

}  // namespace
}  // namespace gpuctl::k8s
