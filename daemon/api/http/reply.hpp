#pragma once
// Answers, and the decoding that every handler needs.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/api/http/routes.hpp"
#include "net/http/http_types.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/base/time.hpp"
#include "text/time.hpp"

namespace gpuctl::api {

net::HttpResponse json_reply(int status, const nlohmann::ordered_json& body);
// 200 with a body that is JSON already, without its last newline.
net::HttpResponse json_text_reply(std::string body);
net::HttpResponse text_reply(int status, std::string body);
net::HttpResponse problem_reply(const Error& error, std::string_view path,
                                std::string_view request_id,
                                const std::vector<Detail>& warnings = {});
net::HttpResponse problem_reply(const Error& error, const Call& call,
                                const std::vector<Detail>& warnings = {});

// Sets the status of a problem, also in its body: several statuses share an error code (414 and
// 431).
void set_status(net::HttpResponse& problem, int status);

// For times in an answer; no decision depends on it.
Instant wall_now();

// "true", "1", "yes" or "" (present without a value) are true; BadRequest for anything else.
Result<bool> flag_of(const Call& call, std::string_view name);

struct Page {
    std::int64_t number = 1;
    std::int64_t size = 20;
};
// BadRequest unless page >= 1 and 1 <= pageSize <= 100.
Result<Page> page_of(const Call& call);
// {total, page, pageSize, items}: counted after filters, before paging.
nlohmann::ordered_json page_json(const Page& page, std::vector<nlohmann::ordered_json> items);
// The same for items that are one page already, of `total` in all.
nlohmann::ordered_json page_json(const Page& page, std::int64_t total,
                                 nlohmann::ordered_json items);

bool equal_without_case(std::string_view a, std::string_view b);
using text::format_time;
// 53s, 12m, 4h, 2d; N/A when unset.
std::string format_age(Instant since, Instant now);

}  // namespace gpuctl::api
