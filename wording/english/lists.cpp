#include "text/duration.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {

std::string span(Duration length) {
    return text::format_span((length.ms() + 999) / 1'000, text::Rounding::up);
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

std::string list_of(const std::vector<std::string>& names, std::int64_t total) {
    const bool is_cut = total > static_cast<std::int64_t>(names.size());
    return list_of(names) + (is_cut ? ", ..." : "");
}

}  // namespace gpuctl::wording::english
