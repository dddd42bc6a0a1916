#include "scheduler/model/model_words.hpp"

#include <algorithm>

#include "scheduler/base/ascii.hpp"

namespace gpuctl {
namespace {

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::vector<std::string> model_words(std::string_view model) {
    std::vector<std::string> out(1);
    for (const char c : model) {
        if (c == '-' || c == '_' || c == ' ' || c == '.') {
            out.emplace_back();
        } else {
            out.back() += upper(c);
        }
    }
    return out;
}

std::optional<std::int32_t> gigabytes_of(std::string_view word) {
    constexpr std::size_t kDigitsMost = 4;
    const std::size_t digits = word.find_first_not_of("0123456789");
    if (digits == std::string_view::npos || digits == 0 || digits > kDigitsMost) return {};
    const std::string_view unit = word.substr(digits);
    if (unit != "G" && unit != "GB" && unit != "GIB") return {};
    std::int32_t number = 0;
    for (const char c : word.substr(0, digits)) number = number * 10 + (c - '0');
    return number > 0 ? std::optional{number} : std::nullopt;
}

bool has_any_word(const std::vector<std::string>& words, std::string_view of) {
    while (!of.empty()) {
        const std::size_t end = std::min(of.find(' '), of.size());
        if (std::find(words.begin(), words.end(), of.substr(0, end)) != words.end()) return true;
        of.remove_prefix(std::min(end + 1, of.size()));
    }
    return false;
}

}  // namespace gpuctl
