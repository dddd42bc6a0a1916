#pragma once
// ASCII letters and digits, independent of the locale.

#include <algorithm>
#include <string>
#include <string_view>

namespace gpuctl {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
inline std::string lower_case(std::string_view text) {
    std::string out{text};
    for (char& c : out) c = lower_case(c);
    return out;
}
constexpr bool same_without_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower_case(x) == lower_case(y); });
}

}  // namespace gpuctl
