#include "cli/listing/read_list.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::int64_t kPageSize = 100;
constexpr std::int64_t kPagesMax =
    10'000;  // a server that always has more must not be read forever

}  // namespace

aio::Task<Result<ObjectList>> read_list(Connection& connection, std::string path,
                                        Parameters parameters) {
    nlohmann::json items = nlohmann::json::array();
    nlohmann::json list = nlohmann::json::object();
    for (std::int64_t page = 1; page <= kPagesMax; ++page) {
        Parameters all = parameters;
        all.emplace_back("page", std::to_string(page));
        all.emplace_back("pageSize", std::to_string(kPageSize));
        const std::string target = "/api/v1/" + path + query(all);
        Result<Reply> reply = co_await connection.get(target);
        if (!reply) co_return reply.error();
        if (!reply->body.is_object()) break;
        list = std::move(reply->body);
        const nlohmann::json more = list.value("items", nlohmann::json::array());
        for (const auto& item : more) items.push_back(item);
        if (more.empty() || page * kPageSize >= list.value("total", std::int64_t{0})) break;
    }
    list.erase("page");
    list.erase("pageSize");
    list["items"] = std::move(items);
    list["total"] = list["items"].size();
    ObjectList whole{std::move(list)};
    co_return whole;
}

}  // namespace gpuctl::cli
