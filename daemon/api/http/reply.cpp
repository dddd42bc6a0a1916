#include "daemon/api/http/reply.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "aio/loop.hpp"
#include "daemon/logs/log_line.hpp"
#include "text/duration.hpp"
#include "wire/problem.hpp"

namespace gpuctl::api {
namespace {

constexpr std::int64_t kPageSizeMax = 100;
constexpr std::int64_t kPageNumberMax = 1'000'000'000;

Result<std::int64_t> number_of(const Call& call, std::string_view name, std::int64_t fallback,
                               std::int64_t maximum) {
    if (!call.target.has_query(name)) return fallback;
    const std::string_view text = call.query(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > maximum) {
        return make_error(ErrorCode::BadRequest,
                          "read " + std::string{name} + "=" + std::string{text} +
                              ": must be a whole number from 1 to " + std::to_string(maximum));
    }
    return value;
}

}  // namespace

net::HttpResponse json_reply(int status, const nlohmann::ordered_json& body) {
    net::HttpResponse response;
    response.status = status;
    response.fields.set("Content-Type", "application/json");
    response.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    response.body += '\n';
    return response;
}

net::HttpResponse json_text_reply(std::string body) {
    net::HttpResponse response;
    response.fields.set("Content-Type", "application/json");
    response.body = std::move(body);
    response.body += '\n';
    return response;
}

net::HttpResponse text_reply(int status, std::string body) {
    net::HttpResponse response;
    response.status = status;
    response.fields.set("Content-Type", "text/plain; charset=utf-8");
    response.body = std::move(body);
    return response;
}

net::HttpResponse problem_reply(const Error& error, std::string_view path,
                                std::string_view request_id, const std::vector<Detail>& warnings) {
    net::HttpResponse response;
    response.status = wire::row_of(error.code).http_status;
    response.fields.set("Content-Type", std::string{wire::kProblemType});
    if (error.code == ErrorCode::Unauthorized) {
        response.fields.set("WWW-Authenticate", "Bearer realm=\"gpuctld\"");
    }
    if (response.status == 429 || response.status == 503) response.fields.set("Retry-After", "1");
    response.body = wire::problem_json(error, path, request_id, warnings);
    return response;
}

net::HttpResponse problem_reply(const Error& error, const Call& call,
                                const std::vector<Detail>& warnings) {
    const std::string_view target = call.request.target;
    return problem_reply(error, target.substr(0, target.find('?')), call.request_id, warnings);
}

void set_status(net::HttpResponse& problem, int status) {
    if (problem.status == status) return;
    problem.status = status;
    auto body = nlohmann::ordered_json::parse(problem.body);
    body["status"] = status;
    problem.body = body.dump();
}

Instant wall_now() { return Instant{aio::Loop::wall_ms()}; }

Result<bool> flag_of(const Call& call, std::string_view name) {
    if (!call.target.has_query(name)) return false;
    const std::string_view text = call.query(name);
    if (text.empty() || text == "true" || text == "1" || text == "yes") return true;
    if (text == "false" || text == "0" || text == "no") return false;
    return make_error(ErrorCode::BadRequest, "read " + std::string{name} + "=" + std::string{text} +
                                                 ": must be true or false");
}

Result<Page> page_of(const Call& call) {
    Page page;
    const Result<std::int64_t> number = number_of(call, "page", page.number, kPageNumberMax);
    if (!number) return number.error();
    const Result<std::int64_t> size = number_of(call, "pageSize", page.size, kPageSizeMax);
    if (!size) return size.error();
    return Page{*number, *size};
}

nlohmann::ordered_json page_json(const Page& page, std::int64_t total,
                                 nlohmann::ordered_json items) {
    nlohmann::ordered_json body;
    body["total"] = total;
    body["page"] = page.number;
    body["pageSize"] = page.size;
    body["items"] = std::move(items);
    return body;
}

nlohmann::ordered_json page_json(const Page& page, std::vector<nlohmann::ordered_json> items) {
    const std::int64_t total = std::ssize(items);
    const std::int64_t begin = std::min(total, (page.number - 1) * page.size);
    const std::int64_t end = std::min(total, begin + page.size);
    auto shown = nlohmann::ordered_json::array();
    for (std::int64_t i = begin; i < end; ++i) {
        shown.push_back(std::move(items[static_cast<std::size_t>(i)]));
    }
    return page_json(page, total, std::move(shown));
}

bool equal_without_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) ==
               std::tolower(static_cast<unsigned char>(y));
    });
}

std::string format_age(Instant since, Instant now) {
    if (!since.happened()) return "N/A";
    return text::format_age(std::max<std::int64_t>(0, (now - since).ms() / 1000));
}

}  // namespace gpuctl::api
