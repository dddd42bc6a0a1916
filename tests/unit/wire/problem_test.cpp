#include "wire/problem.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gpuctl::wire {
namespace {

TEST(Problem, carries_both_forms_of_the_error_and_every_detail) {
    const Error error{ErrorCode::ValidationFailed,
                      "job a: two problems",
                      {{{"/job/name", 3, 5}, "is empty"}, {{"/resources", 0, 0}, "is missing"}}};
    const auto problem = nlohmann::json::parse(problem_json(error, "/api/v1/jobs", "r-1"));
    EXPECT_EQ(problem["status"], 400);
    EXPECT_EQ(problem["error"], "ValidationFailed");
    EXPECT_EQ(problem["message"], "job a: two problems");
    EXPECT_EQ(problem["detail"], "job a: two problems");
    EXPECT_EQ(problem["instance"], "/api/v1/jobs");
    EXPECT_EQ(problem["request_id"], "r-1");
    EXPECT_FALSE(problem["type"].get<std::string>().empty());
    EXPECT_FALSE(problem["title"].get<std::string>().empty());
    EXPECT_EQ(problem["errors"][0]["line"], 3);
    EXPECT_EQ(problem["errors"][0]["column"], 5);
    EXPECT_EQ(problem["errors"][0]["pointer"], "/job/name");
    EXPECT_FALSE(problem["errors"][1].contains("line"));
}

TEST(Problem, every_code_survives_the_way_to_the_client_and_back) {
    for (std::size_t i = 0; i < kErrorCodeNames.size(); ++i) {
        const auto code = static_cast<ErrorCode>(i);
        const ErrorRow& row = row_of(code);
        EXPECT_EQ(row.code, code);
        EXPECT_TRUE(row.http_status >= 400 && row.http_status < 600) << to_string(code);
        EXPECT_TRUE(row.exit_code >= 1 && row.exit_code <= 8) << to_string(code);
        const Error error{code, "what \"happened\"", {{{"/a", 1, 2}, "why"}}};
        const Error back =
            error_from_response(row.http_status, kProblemType, problem_json(error, "/x", "r"));
        EXPECT_EQ(back.code, code);
        EXPECT_EQ(back.message, error.message);
        ASSERT_EQ(back.details.size(), 1u);
        EXPECT_EQ(back.details[0].place.pointer, "/a");
        EXPECT_EQ(back.details[0].place.line, 1);
        EXPECT_EQ(back.details[0].message, "why");
    }
}

TEST(Problem, warnings_are_separate_from_errors) {
    const Error error{ErrorCode::ValidationFailed, "job a: b is wrong", {{{"/b", 2, 1}, "wrong"}}};
    const std::string text = problem_json(error, "/x", "r", {{{"/c", 1, 1}, "not used yet"}});
    const Error back = error_from_response(400, kProblemType, text);
    ASSERT_EQ(back.details.size(), 1u);
    EXPECT_EQ(back.details[0].message, "wrong");
    const std::vector<Detail> warnings = warnings_from_response(text);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].message, "not used yet");
    EXPECT_EQ(warnings[0].place.line, 1);
    EXPECT_TRUE(warnings_from_response("<html>").empty());
}

TEST(Problem, exit_codes_let_scripts_decide) {
    EXPECT_EQ(row_of(ErrorCode::JobNotFound).exit_code, 3);
    EXPECT_EQ(row_of(ErrorCode::JobExists).exit_code, 4);
    EXPECT_EQ(row_of(ErrorCode::Unauthorized).exit_code, 5);
    EXPECT_EQ(row_of(ErrorCode::Forbidden).exit_code, 5);
    EXPECT_EQ(row_of(ErrorCode::Timeout).exit_code, 6);
    EXPECT_EQ(row_of(ErrorCode::Unreachable).exit_code, 7);
    EXPECT_EQ(row_of(ErrorCode::TooManyRequests).exit_code, 7);
    EXPECT_EQ(row_of(ErrorCode::TooManyRequests).http_status, 429);
    EXPECT_EQ(row_of(ErrorCode::JobExists).http_status, 409);
}

TEST(Problem, text_that_is_not_utf8_does_not_stop_the_answer) {
    const Error error = make_error(ErrorCode::BadRequest, "bad \xff name");
    const auto problem = nlohmann::json::parse(problem_json(error, "/\xfe", "r"), nullptr, false);
    ASSERT_TRUE(problem.is_object());
    EXPECT_EQ(problem["error"], "BadRequest");
}

TEST(Problem, a_foreign_answer_becomes_an_error_that_shows_it) {
    const Error html = error_from_response(502, "text/html", "<h1>Bad\nGateway</h1>\x1b[31m");
    EXPECT_EQ(html.code, ErrorCode::Unreachable);
    EXPECT_NE(html.message.find("HTTP 502"), std::string::npos);
    EXPECT_NE(html.message.find("<h1>Bad Gateway</h1>"), std::string::npos);
    EXPECT_EQ(html.message.find('\x1b'), std::string::npos) << "no escapes from the server";
    EXPECT_EQ(error_from_response(503, "", "").code, ErrorCode::ClusterUnavailable);
    EXPECT_EQ(error_from_response(404, "application/json", "[]").code, ErrorCode::NotFound);
    EXPECT_EQ(error_from_response(200, "text/plain", "hello").code, ErrorCode::ProtocolError);
}

TEST(Problem, a_code_from_a_newer_server_falls_back_to_the_status) {
    const Error error = error_from_response(
        409, kProblemType, R"({"error":"QuotaInUse","message":"still used","errors":[1,{}]})");
    EXPECT_EQ(error.code, ErrorCode::Conflict);
    EXPECT_EQ(error.message, "still used");
    EXPECT_EQ(error.details.size(), 1u);
}

}  // namespace
}  // namespace gpuctl::wire
