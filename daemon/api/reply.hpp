#pragma once
// Answers and the small decoding every handler needs.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/api/routes.hpp"
#include "daemon/net/http_types.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::api {

net::HttpResponse json_reply(int status, const nlohmann::ordered_json& body);
// 200 with a body that is JSON already, without its last line end.
net::HttpResponse json_text_reply(std::string body);
net::HttpResponse text_reply(int status, std::string body);
net::HttpResponse problem_reply(const Error& error, std::string_view path,
                                std::string_view request_id,
                                const std::vector<Detail>& warnings = {});
net::HttpResponse problem_reply(const Error& error, const Call& call,
                                const std::vector<Detail>& warnings = {});

// Another status for a problem, in its body, too: several share an error code (414 and 431).
void set_status(net::HttpResponse& problem, int status);

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
// The same of items that are those of the page already, of so many in all.
nlohmann::ordered_json page_json(const Page& page, std::int64_t total,
                                 nlohmann::ordered_json items);

bool equal_without_case(std::string_view a, std::string_view b);
std::string format_time(Instant time);  // RFC 3339 UTC; "" for never
// 53s, 12m, 4h, 2d; N/A when never.
std::string format_age(Instant since, Instant now);

}  // namespace gpuctl::api
