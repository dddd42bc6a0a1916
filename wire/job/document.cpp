#include "wire/job/document.hpp"

#include <algorithm>

namespace gpuctl::wire {
namespace {

std::string folded(std::string_view word) {
    std::string result;
    for (const char c : word) {
        if (c == '-' || c == '_') continue;
        result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

// Insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({last[j] + 1, current[j - 1] + 1, replace});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                current[j] = std::min(current[j], before[j - 2] + 1);
            }
        }
        before = last;
        last = current;
    }
    return last[b.size()];
}

}  // namespace

std::string pointer_to(const std::string& parent, std::string_view key) {
    std::string pointer = parent + "/";
    for (const char c : key) {
        if (c == '~') {
            pointer += "~0";
        } else if (c == '/') {
            pointer += "~1";
        } else {
            pointer += c;
        }
    }
    return pointer;
}

std::string pointer_to(const std::string& parent, std::size_t index) {
    return parent + "/" + std::to_string(index);
}

Place Document::place_of(const std::string& pointer) const {
    std::string at = pointer;
    for (;;) {
        if (const auto it = places.find(at); it != places.end()) {
            return {pointer, it->second.line, it->second.column};
        }
        if (at.empty()) return {pointer, 0, 0};
        at.resize(at.rfind('/') == std::string::npos ? 0 : at.rfind('/'));
    }
}

std::string Document::text_of(const std::string& pointer, const nlohmann::json& value) const {
    if (value.is_string()) return value.get<std::string>();
    if (const auto it = written.find(pointer); it != written.end()) return it->second;
    return value.dump();
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::size_t kLengthMax = 64;
    const std::string wanted = folded(word);
    if (wanted.empty() || wanted.size() > kLengthMax) return "";
    // Two wrong letters of three are not a typing error.
    std::size_t best = wanted.size() <= 3 ? 1 : 2;
    std::string nearest;
    for (const std::string& name : known) {
        const std::string candidate = folded(name);
        if (candidate.size() > wanted.size() + best || candidate.size() + best < wanted.size()) {
            continue;
        }
        const std::size_t distance = edit_distance(wanted, candidate);
        if (distance < best || (distance == best && nearest.empty())) {
            best = distance;
            nearest = name;
        }
    }
    return nearest;
}

}  // namespace gpuctl::wire
