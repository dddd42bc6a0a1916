#pragma once
// Why a node is not changed.

#include <string>

#include "scheduler/base/result.hpp"
#include "scheduler/model/node_change.hpp"

namespace gpuctl::wording {

// `why`: as check_conditions() and NodeChanges::check() return it, without a sentence.
std::string node_change_text(const NodeChange& change, const Error& why);

// The same error with its sentence.
Error node_change_error(const NodeChange& change, const Error& why);

}  // namespace gpuctl::wording
