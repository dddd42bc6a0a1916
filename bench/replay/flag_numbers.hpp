#pragma once
// Strict parsing of numeric flags. CLI11 alone reads 010 as 8, accepts -1 as an unsigned number,
// and its ranges accept NaN.

#include <CLI/CLI.hpp>
#include <cstdint>

namespace gpuctl::replay {

// Accepts digits only, and a value between both bounds. For Option::transform().
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
// Accepts 0.01 to 100. For Option::check().
CLI::Validator share();

}  // namespace gpuctl::replay
