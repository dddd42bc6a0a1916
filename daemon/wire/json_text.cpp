#include "daemon/wire/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

namespace gpuctl::wire {
namespace {

bool is_plain(char c) {
    return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x7f &&
           c != '"' && c != '\\';
}

// So many digits, with zeros before it.
char* put(char* at, unsigned value, int digits) {
    for (int i = digits - 1; i >= 0; --i) {
        at[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    return at + digits;
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
    std::array<char, 3> digits{};
    put(digits.data(), static_cast<unsigned>(amount % 1000), 3);
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
    namespace chrono = std::chrono;
    const std::int64_t seconds = time.ms() / 1000;
    const chrono::sys_days day{chrono::days{seconds / 86'400}};
    const auto of_day = static_cast<unsigned>(seconds % 86'400);
    const chrono::year_month_day date{day};
    std::array<char, 22> text{};
    char* at = text.data();
    *at++ = '"';
    at = put(at, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    *at++ = '-';
    at = put(at, static_cast<unsigned>(date.month()), 2);
    *at++ = '-';
    at = put(at, static_cast<unsigned>(date.day()), 2);
    *at++ = 'T';
    at = put(at, of_day / 3'600, 2);
    *at++ = ':';
    at = put(at, of_day / 60 % 60, 2);
    *at++ = ':';
    at = put(at, of_day % 60, 2);
    *at++ = 'Z';
    *at++ = '"';
    out.append(text.data(), at);
}

}  // namespace gpuctl::wire
