#pragma once
// Kinds of characters, whatever the locale.

namespace gpuctl {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace gpuctl
