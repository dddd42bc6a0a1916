#include "scheduler/model/policy/quantity.hpp"

#include <limits>

#include "scheduler/base/ascii.hpp"

namespace gpuctl {
namespace {

__extension__ typedef unsigned __int128 WideUnsigned;

// A written number as mantissa * 10^power10 * 2^power2, exact: floating point would round "0.1" up
// by one unit.
struct Written {
    bool negative = false;
    std::uint64_t mantissa = 0;
    bool more_digits = false;  // further digits that are not all zero
    int power10 = 0;
    int power2 = 0;
};

constexpr int kMantissaDigitsMax = 19;
constexpr std::size_t kQuantityLengthMax = 64;
constexpr int kExponentMax = 1'000;

// Reads digits with an optional point, and moves `text` past them. False if there is no digit.
bool read_number(std::string_view& text, Written& written) {
    bool any = false;
    bool after_point = false;
    int significant = 0;
    std::size_t i = 0;
    for (; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '.' && !after_point) {
            after_point = true;
            continue;
        }
        if (!is_digit(c)) break;
        any = true;
        if (significant == kMantissaDigitsMax) {
            written.more_digits = written.more_digits || c != '0';
            if (!after_point) ++written.power10;
            continue;
        }
        written.mantissa = written.mantissa * 10 + static_cast<std::uint64_t>(c - '0');
        if (written.mantissa != 0) ++significant;
        if (after_point) --written.power10;
    }
    text.remove_prefix(i);
    return any;
}

bool read_exponent(std::string_view text, Written& written) {
    bool negative = false;
    if (text.front() == '+' || text.front() == '-') {
        negative = text.front() == '-';
        text.remove_prefix(1);
    }
    if (text.empty() || text.size() > 4) return false;
    int exponent = 0;
    for (const char c : text) {
        if (!is_digit(c)) return false;
        exponent = exponent * 10 + (c - '0');
    }
    if (exponent > kExponentMax) return false;
    written.power10 += negative ? -exponent : exponent;
    return true;
}

bool read_suffix(std::string_view suffix, Written& written) {
    constexpr std::string_view decimal = "kMGTPE";
    constexpr std::string_view binary = "KMGTPE";
    if (suffix.empty()) return true;
    if (suffix.size() == 1) {
        if (const auto at = decimal.find(suffix[0]); at != std::string_view::npos) {
            written.power10 += 3 * (static_cast<int>(at) + 1);
            return true;
        }
        if (suffix[0] == 'm') return written.power10 -= 3, true;
        if (suffix[0] == 'u') return written.power10 -= 6, true;
        if (suffix[0] == 'n') return written.power10 -= 9, true;
        return false;
    }
    if (suffix.size() == 2 && suffix[1] == 'i') {
        const auto at = binary.find(suffix[0]);
        if (at == std::string_view::npos) return false;
        written.power2 = 10 * (static_cast<int>(at) + 1);
        return true;
    }
    if (suffix[0] == 'e' || suffix[0] == 'E') return read_exponent(suffix.substr(1), written);
    return false;
}

// The value in units of 10^-decimals, rounded away from zero if it does not divide (as Kubernetes
// does).
std::optional<std::int64_t> in_units(const Written& written, int decimals) {
    if (written.mantissa == 0 && !written.more_digits) return 0;
    // Digits were dropped and would be shifted back in front of the point: the result is not exact.
    if (written.more_digits && written.power2 > 0) return std::nullopt;
    constexpr WideUnsigned limit =
        static_cast<WideUnsigned>(std::numeric_limits<std::int64_t>::max());
    WideUnsigned value = static_cast<WideUnsigned>(written.mantissa) << written.power2;
    bool rest = written.more_digits;
    int power = written.power10 + decimals;
    for (; power > 0; --power) {
        if (value > limit) return std::nullopt;
        value *= 10;
    }
    for (; power < 0 && value != 0; ++power) {
        rest = rest || value % 10 != 0;
        value /= 10;
    }
    if (rest) ++value;
    if (value > limit) return std::nullopt;
    const auto magnitude = static_cast<std::int64_t>(value);
    return written.negative ? -magnitude : magnitude;
}

}  // namespace

std::optional<std::int64_t> parse_quantity(std::string_view text, int decimals) {
    if (text.empty() || text.size() > kQuantityLengthMax) return std::nullopt;
    Written written;
    if (text.front() == '+' || text.front() == '-') {
        written.negative = text.front() == '-';
        text.remove_prefix(1);
    }
    if (!read_number(text, written)) return std::nullopt;
    if (text.size() == 1 && text[0] == 'e') return std::nullopt;
    if (!read_suffix(text, written)) return std::nullopt;
    return in_units(written, decimals);
}

std::optional<CpuMilli> parse_cpu(std::string_view text) {
    const auto milli = parse_quantity(text, 3);
    if (!milli || *milli < 0) return std::nullopt;
    return CpuMilli{*milli};
}

std::optional<Bytes> parse_bytes(std::string_view text) {
    const auto bytes = parse_quantity(text, 0);
    if (!bytes || *bytes < 0) return std::nullopt;
    return Bytes{*bytes};
}

std::string format_cpu(CpuMilli cpu) {
    if (cpu.value() % 1000 == 0) return std::to_string(cpu.value() / 1000);
    return std::to_string(cpu.value()) + "m";
}

std::string format_bytes(Bytes bytes) {
    constexpr std::string_view suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    std::int64_t value = bytes.value();
    std::size_t suffix = 0;
    while (value != 0 && value % 1024 == 0 && suffix + 1 < std::size(suffixes)) {
        value /= 1024;
        ++suffix;
    }
    return std::to_string(value) + std::string{suffixes[suffix]};
}

std::string format_gpus(GpuMilli gpus) {
    const std::int64_t milli = gpus.value();
    const std::int64_t magnitude = milli < 0 ? -milli : milli;
    std::string text = (milli < 0 ? "-" : "") + std::to_string(magnitude / kGpuMilliPerGpu);
    std::int64_t rest = magnitude % kGpuMilliPerGpu;
    if (rest == 0) return text;
    std::string digits = std::to_string(kGpuMilliPerGpu + rest).substr(1);
    while (digits.back() == '0') digits.pop_back();
    return text + "." + digits;
}

}  // namespace gpuctl
