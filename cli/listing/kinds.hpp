#pragma once
// The kinds of objects that `get` lists. To add one: its description in a file of this folder, and
// its line in kinds.cpp.

#include <span>
#include <string_view>

#include "cli/listing/listing.hpp"

namespace gpuctl::cli {

std::span<const ListedKind> listed_kinds();
// "jobs"; the name must be of a listed kind.
const ListedKind& listed_kind(std::string_view name);

ListedKind jobs_kind();
ListedKind pools_kind();
ListedKind nodes_kind();
ListedKind queues_kind();
ListedKind events_kind();
ListedKind quotas_kind();
ListedKind namespaces_kind();
// The labels of each node; of one key, the value of each node; the labels of one node.
ListedKind labels_kind();
ListedKind label_values_kind();
ListedKind labels_of_node_kind();

// The short forms of --json.
nlohmann::json quota_row(const nlohmann::json& item);
nlohmann::json namespace_row(const nlohmann::json& item);
nlohmann::json pool_row(const nlohmann::json& item);
nlohmann::json node_row(const nlohmann::json& item);
// "2/8": of the short form of a quota.
std::string used_of_quota(const nlohmann::json& row, const char* resource);
inline constexpr const char* kGpuOfQuota = "nvidia.com/gpu";

}  // namespace gpuctl::cli
