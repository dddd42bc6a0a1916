#include "k8s/informer.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "unit/k8s/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

std::string pod(const std::string& name, const std::string& uid, int version) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":")" + uid +
           R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}
std::string frame(const std::string& type, const std::string& object) {
    return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
std::string bookmark(int version, bool end_of_initial = false) {
    return frame(
        "BOOKMARK",
        R"({"kind":"Pod","metadata":{"resourceVersion":")" + std::to_string(version) + "\"" +
            (end_of_initial ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") +
            "}}");
}
std::string list(int version, const std::vector<std::string>& items,
                 const std::string& continue_token = "") {
    std::string text = R"({"kind":"PodList","metadata":{"resourceVersion":")" +
                       std::to_string(version) + R"(","continue":")" + continue_token +
                       R"("},"items":[)";
    for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
    return text + "]}";
}
std::string gone_status() {
    return R"({"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410})";
}

// Writes down what it is told, as a reader would follow it; keeps the resulting world.
struct Witness : InformerHandler {
    std::vector<std::string> story;
    std::map<std::string, std::string> world;  // name -> uid@version
    int refuse_next = 0;
    int refuse_after_first_sync = 0;
    int synced = 0;

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view) override {
        if (refuse_next > 0 && refuse_next-- > 0) return false;
        story.push_back((change == Change::added ? "+" : "~") + identity.name + ":" + identity.uid +
                        "@" + identity.resource_version);
        world[identity.name] = identity.uid + "@" + identity.resource_version;
        return true;
    }
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override {
        if (refuse_next > 0 && refuse_next-- > 0) return false;
        story.push_back("-" + identity.name + ":" + identity.uid + (last_state.empty() ? "?" : ""));
        world.erase(identity.name);
        return true;
    }
    void on_synced() override {
        refuse_next += std::exchange(refuse_after_first_sync, 0);
        ++synced;
        story.emplace_back("synced");
    }
};

using Story = std::vector<std::string>;

class InformerTest : public LoopTest {
protected:
    ~InformerTest() override {
        group.cancel();
        (void)run(group.join(soon()));  // before the informer and the server go
    }

    // Starts an informer against the script, which sees only requests of the informer.
    void start(ScriptedServer::Script script, bool watch_list = false) {
        InformerSettings settings;
        settings.path = "/api/v1/pods";
        settings.watch_list = watch_list;
        tune(settings);
        begin(std::move(script), settings);
    }
    static void tune(InformerSettings& settings) {
        settings.backoff = {milliseconds{1}, milliseconds{8}, milliseconds{120'000}};
        settings.short_watch = milliseconds{20};
        settings.silence_max = seconds{30};
        settings.page_timeout = seconds{5};
    }
    void begin(ScriptedServer::Script script, InformerSettings settings) {
        server = std::make_unique<ScriptedServer>(std::move(script));
        client = client_of(*server);
        informer = std::make_unique<Informer>(loop, *client, std::move(settings), witness);
        group.spawn("informer", informer->run());
    }
    // The requests so far, as "list", "page TOKEN", "initial", "watch VERSION".
    std::vector<std::string> asked() const {
        std::vector<std::string> out;
        for (const SeenRequest& request : server->received()) {
            if (!request.has_query("watch")) {
                out.push_back(request.has_query("continue") ? "page " + request.query("continue")
                                                            : "list");
            } else if (request.has_query("sendInitialEvents")) {
                out.emplace_back("initial");
            } else {
                out.push_back("watch " + request.query("resourceVersion"));
            }
        }
        return out;
    }
    bool told(const std::string& line) const {
        return std::find(witness.story.begin(), witness.story.end(), line) != witness.story.end();
    }

    Witness witness;
    std::unique_ptr<ScriptedServer> server;
    std::unique_ptr<Client> client;
    std::unique_ptr<Informer> informer;
};

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
    ASSERT_TRUE(wait_for([&] { return told("-b:u2"); }));
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

TEST_F(InformerTest, M12_a_reconnect_goes_on_from_the_last_version_and_never_from_zero) {
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

TEST_F(InformerTest, M13_an_expired_watch_relists_instead_of_retrying_the_same_version) {
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

TEST_F(InformerTest, M13_a_410_answer_to_the_watch_request_relists_as_well) {
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

TEST_F(InformerTest, M14_bookmarks_are_asked_for_and_move_the_version_on) {
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

TEST_F(InformerTest, M15_a_selector_is_sent_and_a_delete_says_its_last_state_may_be_old) {
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
    ASSERT_TRUE(wait_for([&] { return told("-a:u1"); }));
    for (const SeenRequest& request : server->received()) {
        EXPECT_EQ(request.query("fieldSelector"), "spec.schedulerName%3Dgpuctl");
    }
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

TEST_F(InformerTest, initial_events_that_break_off_are_asked_for_again_from_nothing) {
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
    ASSERT_TRUE(wait_for([&] { return told("+a:newer@11"); }));
    EXPECT_EQ(witness.story, (Story{"+a:old@5", "synced", "-a:old?", "+a:new@5", "synced",
                                    "-a:new?", "+a:newer@11"}));
}

TEST_F(InformerTest, an_event_with_a_known_version_is_not_told_again) {
    start([](const SeenRequest& request, Reply& reply) {
        if (!request.has_query("watch")) return reply.respond(200, list(10, {pod("a", "u1", 5)}));
        reply.begin_chunked();
        reply.chunk(frame("ADDED", pod("a", "u1", 5)) + frame("MODIFIED", pod("a", "u1", 5)) +
                    frame("MODIFIED", pod("a", "u1", 6)));
        reply.stall();
    });
    ASSERT_TRUE(wait_for([&] { return told("~a:u1@6"); }));
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "synced", "~a:u1@6"}));
    EXPECT_EQ(informer->figures().events_unchanged, 2u);
}

TEST_F(InformerTest, what_a_full_handler_refused_is_told_by_the_relist) {
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
    EXPECT_TRUE(told("-a:u1?"));
    EXPECT_EQ(informer->figures().handler_full, 1u);
}

TEST_F(InformerTest, a_list_into_a_full_handler_is_made_again_until_all_is_told) {
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

TEST_F(InformerTest, lists_that_are_garbage_slow_or_cut_are_asked_for_again) {
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

TEST_F(InformerTest, M16_a_throttled_watch_waits_as_asked_and_does_not_relist) {
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

TEST_F(InformerTest, M16_first_lists_are_spread_at_random) {
    InformerSettings settings;
    settings.path = "/x";
    settings.start_delay_max = seconds{3'600};
    begin([](const SeenRequest&, Reply& reply) { reply.respond(500, ""); }, settings);
    // An hour is not over at once: nothing may have been asked when the loop has turned.
    (void)run(poll_until([turns = 0]() mutable { return ++turns > 20; }, soon()));
    EXPECT_EQ(asked(), Story{});
}

TEST_F(InformerTest, a_relist_can_be_asked_for_while_the_watch_is_quiet) {
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
    informer->request_relist("became leader");
    ASSERT_TRUE(wait_for([&] { return witness.synced == 2; }));
    EXPECT_EQ(lists, 2);
    EXPECT_EQ(witness.story, (Story{"+a:u1@5", "synced", "synced"}));
}

TEST_F(InformerTest, a_resource_that_does_not_exist_has_no_objects_and_is_looked_for_again) {
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
    ASSERT_TRUE(wait_for([&] { return told("+g:u1@5"); }));
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

TEST_F(InformerTest, a_version_from_the_future_waits_and_lists_anew) {
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

TEST_F(InformerTest, an_error_that_keeps_coming_back_leads_to_a_relist) {
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
