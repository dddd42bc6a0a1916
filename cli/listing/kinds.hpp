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

}  // namespace gpuctl::cli
