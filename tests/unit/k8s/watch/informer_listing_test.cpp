// The first list: by pages or by a watch list, complete or not at all.

#include <atomic>
#include <chrono>
#include <string>

#include "unit/k8s/watch/informer_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;

TEST_F(InformerTest, a_list_by_pages_is_followed_by_a_watch_from_its_version) {
    start([](const SeenRequest& request, Reply& reply) {
        if (request.has_query("watch")) {
            reply.begin_chunked();
            reply.chunk(frame("ADDED", pod("c", "u3", 11)) + frame("MODIFIED", pod("a", "u1", 12)));
            reply.chunk(frame("DELETED", pod("b", "u2", 13)));
            return reply.stall();
        }
        if (!request.has_query("continue")) {
            return reply.respond(200, list(10, {pod("a", "u1", 5)}, "t/1="));
        }
        reply.respond(200, list(10, {pod("b", "u2", 6)}));
    });
    ASSERT_TRUE(wait_for([&] { return has_seen("-b:u2"); }));
    EXPECT_EQ(witness.story,
              (Story{"+a:u1@5", "+b:u2@6", "synced", "+c:u3@11", "~a:u1@12", "-b:u2"}));
    EXPECT_EQ(asked(), (Story{"list", "page t%2F1%3D", "watch 10"}));
    const SeenRequest first = server->received().at(0);
    EXPECT_EQ(first.query("limit"), "500");
    EXPECT_TRUE(first.has_query("resourceVersion")) << "empty, so that the list is consistent";
    EXPECT_EQ(first.query("resourceVersion"), "");
    const SeenRequest watch = server->received().at(2);
    const int timeout = std::stoi(watch.query("timeoutSeconds"));
    EXPECT_GE(timeout, 300);
    EXPECT_LT(timeout, 600);
    EXPECT_EQ(informer->figures().objects, 2u);
    EXPECT_EQ(informer->figures().resource_version, "13");
}

TEST_F(InformerTest, a_watch_list_swaps_the_world_at_its_bookmark_and_keeps_the_stream) {
    static std::atomic<int> initials;  // the server's threads outlive this frame
    initials = 0;
    start(
        [&](const SeenRequest& request, Reply& reply) {
            reply.begin_chunked();
            if (!request.has_query("sendInitialEvents")) return reply.stall();
            if (++initials == 1) {
                reply.chunk(frame("ADDED", pod("b", "u2", 9)) + frame("ADDED", pod("a", "u1", 5)));
                reply.chunk(bookmark(20, true));
                reply.chunk(frame("MODIFIED", pod("a", "u1", 21)));
                reply.chunk(frame("ERROR", gone_status()));
                return reply.stall();
            }
            reply.chunk(frame("ADDED", pod("a", "u1", 21)) + bookmark(30, true));
            reply.end_chunked();
        },
        true);
    ASSERT_TRUE(wait_for([&] { return asked().size() == 3; }));
    EXPECT_EQ(asked(), (Story{"initial", "initial", "watch 30"}));
    EXPECT_EQ(witness.story,
              (Story{"+b:u2@9", "+a:u1@5", "synced", "~a:u1@21", "-b:u2?", "synced"}));
    EXPECT_EQ(server->received().at(0).query("resourceVersionMatch"), "NotOlderThan");
}

TEST_F(InformerTest, a_server_without_watch_list_is_listed_by_pages_from_then_on) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start(
        [&](const SeenRequest& request, Reply& reply) {
            if (request.has_query("sendInitialEvents")) {
                return reply.respond(422, R"({"kind":"Status","reason":"Invalid","code":422})");
            }
            if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
            if (++watches == 1) return reply.respond(410, gone_status());
            reply.begin_chunked();
            reply.stall();
        },
        true);
    ASSERT_TRUE(wait_for([&] { return watches == 2; }));
    EXPECT_EQ(asked(), (Story{"initial", "list", "watch 10", "list", "watch 10"}));
}

TEST_F(InformerTest, initial_events_that_break_off_are_requested_again_from_the_start) {
    static std::atomic<int> initials;  // the server's threads outlive this frame
    initials = 0;
    start(
        [&](const SeenRequest&, Reply& reply) {
            reply.begin_chunked();
            reply.chunk(frame("ADDED", pod("a", "u1", 5)));
            if (++initials == 1) return reply.cut();
            reply.chunk(bookmark(20, true));
            reply.stall();
        },
        true);
    ASSERT_TRUE(wait_for([&] { return witness.synced == 1; }));
    EXPECT_EQ(asked(), (Story{"initial", "initial"}));
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "synced"}));
}

TEST_F(InformerTest, an_expired_continue_token_starts_the_list_over) {
    static std::atomic<int> pages;  // the server's threads outlive this frame
    pages = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (request.has_query("watch")) {
            reply.begin_chunked();
            return reply.stall();
        }
        if (request.has_query("continue")) {
            if (++pages == 1) return reply.respond(410, gone_status());
            return reply.respond(200, list(30, {pod("b", "u2", 6)}));
        }
        reply.respond(200, list(pages == 0 ? 10 : 30, {pod("a", "u1", 5)}, "next"));
    });
    ASSERT_TRUE(wait_for([&] { return witness.synced == 1; }));
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "+b:u2@6", "synced"}));
    ASSERT_TRUE(wait_for([&] { return asked().size() == 5; }));
    EXPECT_EQ(asked(), (Story{"list", "page next", "list", "page next", "watch 30"}));
}

TEST_F(InformerTest, a_list_into_a_full_handler_is_repeated_until_all_is_reported) {
    witness.refuse_next = 2;
    start([](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) {
            return reply.respond(200, list(10, {pod("a", "u1", 5), pod("b", "u2", 6)}));
        }
        reply.begin_chunked();
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return witness.synced == 1; }));
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "+b:u2@6", "synced"}));
    EXPECT_EQ(informer->figures().handler_full, 2u);
}

TEST_F(InformerTest, a_resource_that_does_not_exist_has_no_objects_and_is_listed_again) {
    InformerSettings settings;
    settings.path = "/apis/x/v1/groups";
    settings.optional = true;
    tune(settings);
    settings.optional_retry = milliseconds{5};
    static std::atomic<int> asked_for;  // the server's threads outlive this frame
    asked_for = 0;
    begin(
        [&](const SeenRequest&, Reply& reply) {
            if (++asked_for < 3) return reply.respond(404, "404 page not found");
            reply.begin_chunked();
            reply.chunk(frame("ADDED", pod("g", "u1", 5)) + bookmark(20, true));
            reply.stall();
        },
        settings);
    ASSERT_TRUE(wait_for([&] { return has_seen("+g:u1@5"); }));
    EXPECT_EQ(witness.story.front(), "synced");
}

TEST_F(InformerTest, a_required_resource_that_is_missing_is_never_called_synced) {
    static std::atomic<int> asked_for;  // the server's threads outlive this frame
    asked_for = 0;
    start([&](const SeenRequest&, Reply& reply) {
        ++asked_for;
        reply.respond(404, "404 page not found");
    });
    ASSERT_TRUE(wait_for([&] { return asked_for == 4; }));
    EXPECT_EQ(witness.synced, 0);
    EXPECT_FALSE(informer->figures().synced);
    EXPECT_NE(informer->figures().last_error.find("404"), std::string::npos);
}

}  // namespace
}  // namespace gpuctl::k8s
