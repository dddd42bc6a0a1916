#pragma once
// Reads lists of gpuctld completely, page by page.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cli/connection.hpp"

namespace gpuctl::cli {

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct ObjectList {
    nlohmann::json body;
};

// {"items": [...], "total": N, ...}: the members of the last page, with the items of all pages.
// `path` is below /api/v1/; parameters without a value are left out.
aio::Task<Result<ObjectList>> read_list(Connection& connection, std::string path,
                                        Parameters parameters);

}  // namespace gpuctl::cli
