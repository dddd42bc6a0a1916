#pragma once
// A list of words in one text, separated by single spaces.

#include <algorithm>
#include <string_view>

namespace gpuctl {

// Calls `visit` with each word until it returns true.
template <typename Visit>
bool any_word(std::string_view words, Visit visit) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (visit(words.substr(0, end))) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

}  // namespace gpuctl
