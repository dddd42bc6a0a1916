#include "wire/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "text/time.hpp"

namespace gpuctl::wire {
namespace {

bool is_plain(char c) {
    return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x7f &&
           c != '"' && c != '\\';
}

}  // namespace

void append_json(std::string_view text, std::string& out) {
    if (std::all_of(text.begin(), text.end(), is_plain)) {
        out += '"';
        out += text;
        out += '"';
        return;
    }
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_json(std::int64_t number, std::string& out) {
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out.append(text.data(), end);
}

void append_json_thousandths(std::int64_t thousandths, std::string& out) {
    if (thousandths % 1000 == 0) return append_json(thousandths / 1000, out);
    if (thousandths < 0) out += '-';
    const std::uint64_t amount = thousandths < 0 ? -static_cast<std::uint64_t>(thousandths)
                                                 : static_cast<std::uint64_t>(thousandths);
    append_json(static_cast<std::int64_t>(amount / 1000), out);
    const auto rest = static_cast<int>(amount % 1000);
    const std::array<char, 3> digits{static_cast<char>('0' + rest / 100),
                                     static_cast<char>('0' + rest / 10 % 10),
                                     static_cast<char>('0' + rest % 10)};
    std::size_t count = digits.size();
    while (digits[count - 1] == '0') --count;
    out += '.';
    out.append(digits.data(), count);
}

void append_json(Instant time, std::string& out) {
    if (!time.happened()) {
        out += "\"\"";
        return;
    }
    out += '"';
    text::append_rfc3339(time.ms() / 1000, out);
    out += '"';
}

}  // namespace gpuctl::wire
