// An informer spares the server: it obeys Retry-After, and many that start together do not send
// requests at once.

#include <atomic>
#include <chrono>

#include "aio/deadline.hpp"
#include "unit/k8s/watch/informer_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::seconds;

TEST_F(InformerTest, a_throttled_watch_obeys_retry_after_and_does_not_relist) {
    static std::atomic<int> watches;  // the server's threads outlive this frame
    watches = 0;
    start([&](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
        if (++watches == 1) return reply.respond(429, "", {{"Retry-After", "1"}});
        reply.begin_chunked();
        reply.stall();
    });
    const auto began = aio::Clock::now();
    ASSERT_TRUE(wait_for([&] { return watches == 2; }));
    EXPECT_GE(aio::Clock::now() - began, seconds{1});
    EXPECT_EQ(informer->figures().lists, 1u);
}

TEST_F(InformerTest, first_lists_are_spread_at_random) {
    InformerSettings settings;
    settings.path = "/x";
    settings.start_delay_max = seconds{3'600};
    begin([](const SeenRequest&, Reply& reply) { reply.respond(500, ""); }, settings);
    // An hour's delay: no request may have been sent after one run of the loop.
    (void)run(poll_until([turns = 0]() mutable { return ++turns > 20; }, soon()));
    EXPECT_EQ(asked(), Story{});
}

TEST_F(InformerTest, a_backoff_ends_when_the_server_answers_again) {
    static std::atomic<bool> away;  // the server's threads outlive this frame
    away = true;
    InformerSettings settings;
    settings.path = "/api/v1/pods";
    settings.watch_list = false;
    tune(settings);
    settings.backoff.first = settings.backoff.cap = std::chrono::hours{1};
    begin(
        [&](const SeenRequest& request, Reply& reply) {
            if (away) return reply.respond(503, "down");
            if (request.has_query("watch")) return reply.stall();
            reply.respond(200, list(5, {pod("a", "u1", 1)}));
        },
        settings);
    ASSERT_TRUE(wait_for([&] { return informer->figures().watch_errors == 1; }));
    away = false;
    // A call before anything waits is not remembered: repeat it until it has an effect.
    EXPECT_TRUE(wait_for([&] {
        informer->try_now();
        return informer->figures().synced;
    }));
}

TEST_F(InformerTest, a_watch_that_delivered_a_change_resets_the_backoff) {
    static std::atomic<int> watches;
    watches = 0;
    InformerSettings settings;
    settings.path = "/api/v1/pods";
    settings.watch_list = false;
    tune(settings);
    settings.backoff = {std::chrono::milliseconds{20}, std::chrono::hours{1},
                        std::chrono::hours{1}};
    begin(
        [&](const SeenRequest& request, Reply& reply) {
            if (!request.has_query("watch")) return reply.respond(200, list(10, {}));
            reply.begin_chunked();
            reply.chunk(frame("ADDED", pod("a", "u1", 11 + ++watches)) + "{\"type\":");
            reply.cut();
        },
        settings);
    // Doubled each time, the twelfth pause alone would be 40 s.
    EXPECT_TRUE(wait_for([&] { return watches >= 13; }));
}

TEST_F(InformerTest, a_requested_relist_waits_for_no_backoff) {
    InformerSettings settings;
    settings.path = "/api/v1/pods";
    settings.watch_list = false;
    tune(settings);
    settings.backoff.first = settings.backoff.cap = std::chrono::hours{1};
    begin(
        [](const SeenRequest& request, Reply& reply) {
            if (request.has_query("watch")) return reply.respond(503, "down");
            reply.respond(200, list(5, {pod("a", "u1", 1)}));
        },
        settings);
    ASSERT_TRUE(wait_for([&] { return informer->figures().watch_errors == 1; }));
    EXPECT_TRUE(wait_for([&] {
        informer->request_relist();
        return informer->figures().lists >= 2;
    }));
}

}  // namespace
}  // namespace gpuctl::k8s
