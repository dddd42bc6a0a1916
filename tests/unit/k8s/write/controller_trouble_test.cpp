// A workload controller's reason for pods that it could not create.

#include "k8s/cluster/controller_trouble.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using test_support::ScriptedServer;
using test_support::SeenRequest;

const char* const kTwoEvents = R"({"kind":"EventList","items":[
 {"message":"pods \"a-1\" is forbidden: exceeded quota","reason":"FailedCreate","count":7,
  "firstTimestamp":"2026-11-20T10:00:00Z","lastTimestamp":"2026-11-20T10:05:00Z","eventTime":null},
 {"message":"Error creating: timeout","reason":"FailedCreate","count":1,
  "firstTimestamp":"2026-11-20T10:01:00Z","lastTimestamp":"2026-11-20T10:01:00Z"}]})";

TEST(ControllerTrouble, the_newest_event_is_returned_with_its_count_and_time) {
    EXPECT_EQ(read_trouble(kTwoEvents),
              "pods \"a-1\" is forbidden: exceeded quota "
              "(FailedCreate, 7 times, last at 2026-11-20T10:05:00Z)");
}

TEST(ControllerTrouble, a_series_of_the_newer_recorder_counts_too) {
    EXPECT_EQ(read_trouble(R"({"items":[{"message":"no","eventTime":"2026-11-20T10:00:00.000001Z",
        "series":{"count":3,"lastObservedTime":"2026-11-20T10:02:00.500000Z"}}]})"),
              "no (FailedCreate, 3 times, last at 2026-11-20T10:02:00Z)");
}

TEST(ControllerTrouble, an_empty_list_or_an_unreadable_document_gives_no_event) {
    EXPECT_EQ(read_trouble(R"({"items":[]})"), "");
    EXPECT_EQ(read_trouble(R"({"items":null})"), "");
    EXPECT_EQ(read_trouble("{\"items\": [{"), "");
    EXPECT_EQ(read_trouble(""), "");
}

class AskForTrouble : public LoopTest {};

TEST_F(AskForTrouble, only_the_events_of_that_object_are_requested) {
    ScriptedServer server(
        [](const SeenRequest&, ScriptedServer::Reply& reply) { reply.respond(200, kTwoEvents); });
    const auto client = client_of(server);
    const auto answer = run(read_controller_trouble(*client, {"team a", "llm"}, "u-1", soon()));
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->find("exceeded quota"), std::string::npos);
    ASSERT_EQ(server.received().size(), 1u);
    EXPECT_EQ(server.received().front().target,
              "/api/v1/namespaces/team%20a/events?fieldSelector="
              "involvedObject.uid%3Du-1%2Creason%3DFailedCreate");
}

TEST_F(AskForTrouble, a_refusal_is_an_error_that_names_the_request) {
    ScriptedServer server([](const SeenRequest&, ScriptedServer::Reply& reply) {
        reply.respond(403, R"({"kind":"Status","message":"events is forbidden","code":403})");
    });
    const auto client = client_of(server);
    const auto answer = run(read_controller_trouble(*client, {"a", "llm"}, "u-1", soon()));
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("events of the workload of job a/llm"), std::string::npos)
        << answer.error().message;
}

}  // namespace
}  // namespace gpuctl::k8s
