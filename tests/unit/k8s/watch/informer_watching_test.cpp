// Watching after the first list: where a watch resumes, what it reports, and when a new list is
// needed.

#include <atomic>
#include <map>
#include <string>

#include "unit/k8s/watch/informer_fixture.hpp"

namespace gpuctl::k8s {
namespace {

TEST_F(InformerTest, a_reconnect_continues_from_the_last_version_and_never_from_zero) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {pod("a", "u1", 5)}));
        reply.begin_chunked();
        switch (++watches) {
            case 1:
                reply.chunk(frame("MODIFIED", pod("a", "u1", 11)));
                return reply.end_chunked();
            case 2:
                reply.chunk(frame("MODIFIED", pod("a", "u1", 12)));
                return reply.cut();
            case 3:  // half an event
                reply.chunk(frame("MODIFIED", pod("a", "u1", 13)) + R"({"type":"ADDED","obj)");
                return reply.end_chunked();
            default:
                reply.stall();
        }
    });
    ASSERT_TRUE(wait_for([&] { return asked().size() == 5; }));
    EXPECT_EQ(asked(), (Story{"list", "watch 10", "watch 11", "watch 12", "watch 13"}));
    EXPECT_EQ(witness.synced, 1);
}

TEST_F(InformerTest, an_expired_watch_relists_instead_of_retrying_the_same_version) {
    static std::atomic<int> lists;  // the server's threads outlive this frame
    lists = 0;
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) {
            return reply.respond(200, ++lists == 1
                                          ? list(10, {pod("a", "u1", 5), pod("b", "u2", 6)})
                                          : list(90, {pod("b", "u2", 80), pod("c", "u3", 81)}));
        }
        if (++watches == 1) {
            reply.begin_chunked();
            reply.chunk(frame("ERROR", gone_status()));
            return reply.stall();
        }
        reply.begin_chunked();
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return watches == 2; }));
    EXPECT_EQ(asked(), (Story{"list", "watch 10", "list", "watch 90"}));
    EXPECT_EQ(witness.story,
              (Story{"+a:u1@5", "+b:u2@6", "synced", "~b:u2@80", "+c:u3@81", "-a:u1?", "synced"}));
    EXPECT_EQ(informer->figures().relists_expired, 1u);
}

TEST_F(InformerTest, a_410_answer_to_the_watch_request_relists_as_well) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        if (++watches == 1) return reply.respond(410, gone_status());
        reply.begin_chunked();
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return watches == 2; }));
    EXPECT_EQ(asked(), (Story{"list", "watch 10", "list", "watch 10"}));
}

TEST_F(InformerTest, bookmarks_are_requested_and_advance_the_version) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        reply.begin_chunked();
        if (++watches > 1) return reply.stall();
        reply.chunk(bookmark(55));
        reply.end_chunked();
    });
    ASSERT_TRUE(wait_for([&] { return watches == 2; }));
    EXPECT_EQ(asked().back(), "watch 55");
    EXPECT_EQ(server->received().at(1).query("allowWatchBookmarks"), "true");
}

TEST_F(InformerTest, a_selector_is_sent_and_a_deletes_last_state_may_be_outdated) {
    InformerSettings settings;
    settings.path = "/api/v1/pods";
    settings.watch_list = false;
    settings.field_selector = "spec.schedulerName=gpuctl";
    tune(settings);
    begin(
        [](const SeenRequest& request, Reply& reply) {
            if (!request.has_query("watch"))
                return reply.respond(200, list(10, {pod("a", "u1", 5)}));
            reply.begin_chunked();
            reply.chunk(frame("DELETED", pod("a", "u1", 11)));
            reply.stall();
        },
        settings);
    ASSERT_TRUE(wait_for([&] { return has_seen("-a:u1"); }));
    for (const SeenRequest& request : server->received()) {
        EXPECT_EQ(request.query("fieldSelector"), "spec.schedulerName%3Dgpuctl");
    }
}

TEST_F(InformerTest, a_name_that_came_back_with_another_uid_is_a_delete_and_an_add) {
    static std::atomic<int> lists;  // the server's threads outlive this frame
    lists = 0;
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) {
            return reply.respond(200, list(10, {pod("a", ++lists == 1 ? "old" : "new", 5)}));
        }
        if (++watches == 1) return reply.respond(410, gone_status());
        reply.begin_chunked();
        if (watches == 2) reply.chunk(frame("ADDED", pod("a", "newer", 11)));
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return has_seen("+a:newer@11"); }));
    EXPECT_EQ(witness.story, (Story{"+a:old@5", "synced", "-a:old?", "+a:new@5", "synced",
                                    "-a:new?", "+a:newer@11"}));
}

TEST_F(InformerTest, an_event_with_a_known_version_is_not_reported_again) {
    start([](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {pod("a", "u1", 5)}));
        reply.begin_chunked();
        reply.chunk(frame("ADDED", pod("a", "u1", 5)) + frame("MODIFIED", pod("a", "u1", 5)) +
                    frame("MODIFIED", pod("a", "u1", 6)));
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return has_seen("~a:u1@6"); }));
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "synced", "~a:u1@6"}));
    EXPECT_EQ(informer->figures().events_unchanged, 2u);
}

TEST_F(InformerTest, an_object_that_a_full_handler_refused_is_reported_by_the_relist) {
    witness.refuse_after_first_sync = 1;
    static std::atomic<int> lists;  // the server's threads outlive this frame
    lists = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) {
            return reply.respond(200, ++lists == 1
                                          ? list(10, {pod("a", "u1", 5), pod("b", "u2", 6)})
                                          : list(20, {pod("b", "u2", 12)}));
        }
        reply.begin_chunked();
        if (lists == 1) reply.chunk(frame("DELETED", pod("a", "u1", 11)));
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return witness.synced == 2; }));
    EXPECT_EQ(witness.world, (std::map<std::string, std::string>{{"b", "u2@12"}}));
    EXPECT_TRUE(has_seen("-a:u1?"));
    EXPECT_EQ(informer->figures().handler_full, 1u);
}

TEST_F(InformerTest, a_relist_can_be_requested_while_the_watch_is_quiet) {
    static std::atomic<int> lists;  // the server's threads outlive this frame
    lists = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) {
            ++lists;
            return reply.respond(200, list(10, {pod("a", "u1", 5)}));
        }
        reply.begin_chunked();
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return witness.synced == 1; }));
    informer->request_relist();
    ASSERT_TRUE(wait_for([&] { return witness.synced == 2; }));
    EXPECT_EQ(lists, 2);
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "synced", "synced"}));
}

TEST_F(InformerTest, cancelling_ends_it_in_every_state) {
    start([](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        reply.begin_chunked();
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return witness.synced == 1; }));
    group.cancel();
    EXPECT_TRUE(run(group.join(soon())));
}

}  // namespace
}  // namespace gpuctl::k8s
