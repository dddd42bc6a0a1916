#pragma once
// Numbers of flags, told strictly: CLI11 reads 010 as 8, takes -1 for an unsigned number, and its
// ranges let through what is not a number.

#include <CLI/CLI.hpp>
#include <cstdint>

namespace gpuctl::replay {

// Digits only, between both. For Option::transform().
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
// 0.01 to 100, of what there is. For Option::check().
CLI::Validator share();

}  // namespace gpuctl::replay
