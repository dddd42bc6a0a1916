#include "k8s/client/api_status.hpp"

#include "k8s/write/refusal_notice.hpp"

#include <gtest/gtest.h>

namespace gpuctl::k8s {
namespace {

TEST(ApiStatus, a_refusal_keeps_the_servers_code_reason_causes_and_retry_after) {
    const ApiStatus status = parse_status(
        409,
        R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"refused","reason":"Conflict",
            "details":{"retryAfterSeconds":7,"causes":[{"reason":"FieldValueInvalid","message":"m","field":"f"}]},"code":409})",
        "");
    EXPECT_FALSE(status.success);
    EXPECT_EQ(status.reason, "Conflict");
    EXPECT_EQ(status.retry_after, std::chrono::seconds{7});
    const ApiError error = to_error(status, true, "bind");
    EXPECT_TRUE(error.has_cause("FieldValueInvalid"));
    EXPECT_FALSE(error.has_cause("Other"));
}

TEST(ApiStatus, a_proxys_page_becomes_a_short_printable_message) {
    const std::string page = "<html>\n\x01" + std::string(10'000, 'x');
    const ApiError error = to_error(parse_status(502, page, "3"), false, "GET /api");
    EXPECT_EQ(error.code, ErrorCode::ClusterUnavailable);
    EXPECT_EQ(error.retry_after, std::chrono::seconds{3});
    EXPECT_LT(error.message.size(), 400u);
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_EQ(error.message.find('\x01'), std::string::npos);
}

TEST(ApiStatus, the_retry_after_field_wins_and_nonsense_in_it_counts_as_absent) {
    const auto body = R"({"kind":"Status","details":{"retryAfterSeconds":9}})";
    EXPECT_EQ(parse_status(429, body, "2").retry_after, std::chrono::seconds{2});
    EXPECT_EQ(parse_status(429, body, "soon").retry_after, std::chrono::seconds{9});
    EXPECT_EQ(parse_status(429, "", "-1").retry_after, std::nullopt);
    EXPECT_EQ(parse_status(429, "", "999999999").retry_after, std::chrono::seconds{3'600});
}

TEST(ApiStatus, a_failure_inside_a_2xx_is_seen) {
    EXPECT_TRUE(is_failure_status(R"({"kind":"Status","status":"Failure"})"));
    EXPECT_TRUE(
        is_failure_status(R"( { "apiVersion":"v1", "kind" : "Status", "status" : "Failure"})"));
    EXPECT_FALSE(is_failure_status(R"({"kind":"Status","status":"Success"})"));
    EXPECT_FALSE(is_failure_status(R"({"kind":"Pod","status":{"phase":"Failed"}})"));
    EXPECT_FALSE(is_failure_status("not json"));
}

struct Case {
    int http;
    const char* reason;
    bool write;
    ErrorCode code;
};

TEST(ApiStatus, each_kind_of_refusal_has_its_code) {
    const Case cases[] = {
        {409, "Conflict", true, ErrorCode::Conflict},
        {409, "AlreadyExists", true, ErrorCode::Conflict},
        {410, "", false, ErrorCode::Gone},
        {410, "Expired", false, ErrorCode::Gone},
        {400, "Expired", false, ErrorCode::Gone},
        {404, "NotFound", true, ErrorCode::NotFound},
        {403, "Forbidden", true, ErrorCode::Forbidden},
        {401, "Unauthorized", true, ErrorCode::Unauthorized},
        {422, "Invalid", true, ErrorCode::ValidationFailed},
        {429, "TooManyRequests", true, ErrorCode::TooManyRequests},
        {500, "InternalError", false, ErrorCode::ClusterUnavailable},
        {504, "Timeout", false, ErrorCode::ClusterUnavailable},
        {500, "", true, ErrorCode::UnknownOutcome},
        {504, "Timeout", true, ErrorCode::UnknownOutcome},
        {302, "", false, ErrorCode::ProtocolError},
    };
    for (const Case& one : cases) {
        ApiStatus status;
        status.code = one.http;
        status.reason = one.reason;
        const ApiError error = to_error(status, one.write, "x");
        EXPECT_EQ(error.code, one.code) << one.http << " " << one.reason;
        EXPECT_EQ(error.reason, one.reason);
        EXPECT_EQ(error.http_status, one.http);
    }
}

// The API server's message, of 1.36: the same 403 as a missing right.
TEST(ApiStatus, a_terminating_namespace_is_not_reported_as_a_missing_right) {
    const ApiStatus status = parse_status(403, R"({"kind":"Status","status":"Failure",
        "message":"pods \"a\" is forbidden: unable to create new content in namespace team because it is being terminated",
        "reason":"Forbidden","details":{"name":"a","kind":"pods","causes":[{"reason":"NamespaceTerminating",
        "message":"namespace team is being terminated","field":"metadata.namespace"}]},"code":403})",
                                          "");
    const ApiError error = to_error(status, true, "bind pod team/a");
    EXPECT_TRUE(error.is_namespace_terminating());
    EXPECT_EQ(error.message,
              "bind pod team/a: namespace team is being terminated; nothing can be created in it");
    int said = 0;
    RefusalNotice notice{[&](const std::string&, std::uint64_t) { ++said; }};
    notice.record(error, aio::Clock::now());
    EXPECT_EQ(said, 0) << "nothing is to be done about it";
}

std::string said_of(int code, const std::string& body, bool write = false) {
    return to_error(parse_status(code, body, ""), write, "get node n1").message;
}

TEST(Acceptance, M1_what_is_not_found_is_said_with_the_operation_whatever_the_body_is) {
    const std::string json =
        said_of(404, R"({"kind":"Status","status":"Failure","reason":"NotFound",
        "message":"nodes \"n1\" not found","code":404})");
    EXPECT_EQ(json, R"(get node n1: the API server answered 404 NotFound (nodes "n1" not found))");
    for (const char* body : {"404 page not found", "", "[1", "\"text\"", "null"}) {
        const ApiError plain = to_error(parse_status(404, body, ""), false, "get node n1");
        EXPECT_EQ(plain.code, ErrorCode::NotFound) << body;
        EXPECT_TRUE(plain.message.starts_with("get node n1: the API server answered 404"))
            << plain.message;
    }
}

TEST(Acceptance, M2_the_servers_message_is_shown_and_missing_rights_have_their_codes) {
    const auto body = [](int code, const std::string& message) {
        return R"({"kind":"Status","status":"Failure","message":")" + message + R"(","code":)" +
               std::to_string(code) + "}";
    };
    EXPECT_NE(said_of(500, body(500, "etcd is full")).find("(etcd is full)"), std::string::npos);
    const ApiError unknown = to_error(parse_status(401, body(401, "none"), ""), false, "x");
    EXPECT_EQ(unknown.code, ErrorCode::Unauthorized);
    const ApiError forbidden = to_error(parse_status(403, body(403, "refused"), ""), true, "x");
    EXPECT_EQ(forbidden.code, ErrorCode::Forbidden);
}

}  // namespace
}  // namespace gpuctl::k8s
