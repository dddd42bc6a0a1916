#include "sim/replay/csv.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gpuctl::replay {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Parsed digit by digit, because a double would round differently from trace to trace.
std::optional<Duration> parse_seconds(std::string_view text) {
    const std::size_t point = text.find('.');
    const auto whole = parse_integer(text.substr(0, point));
    if (!whole || *whole < 0 || text.starts_with('-')) return std::nullopt;
    if (*whole > CsvReader::kSecondsMax) return std::nullopt;
    std::int64_t ms = *whole * 1000;
    if (point == std::string_view::npos) return Duration{ms};
    const std::string_view fraction = text.substr(point + 1);
    if (fraction.empty()) return std::nullopt;
    std::int64_t weight = 100;
    for (std::size_t i = 0; i < fraction.size(); ++i) {
        if (fraction[i] < '0' || fraction[i] > '9') return std::nullopt;
        if (i < 3) {
            ms += (fraction[i] - '0') * weight;
            weight /= 10;
        } else if (i == 3 && fraction[i] >= '5') {
            ++ms;
        }
    }
    return Duration{ms};
}

}  // namespace

CsvReader::CsvReader(std::string file, std::string_view text) : file_(std::move(file)) {
    rest_ = text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
    if (rest_.empty()) {
        line_ = 1;
        refuse_line("the file is empty; the first line must name the columns", 1);
        return;
    }
    split(take_line());
    header_ = fields_;
}

CsvReader::Column CsvReader::column(std::string_view name) {
    if (const auto found = column_if_any(name)) return *found;
    std::string known;
    for (const std::string& word : header_) known += (known.empty() ? "" : ", ") + word;
    refuse_line("there is no column " + std::string{name} + " (there are: " + known + ")", 1);
    return 0;
}

std::optional<CsvReader::Column> CsvReader::column_if_any(std::string_view name) {
    if (std::count(header_.begin(), header_.end(), name) > 1) {
        refuse_line("column " + std::string{name} + " is there twice", 1);
        return 0;
    }
    const auto found = std::find(header_.begin(), header_.end(), name);
    if (found == header_.end()) return std::nullopt;
    return static_cast<Column>(found - header_.begin());
}

bool CsvReader::next_row() {
    while (!error_ && !rest_.empty()) {
        const std::string_view line = take_line();
        if (line.empty()) continue;
        split(line);
        if (error_) return false;
        if (fields_.size() != header_.size()) {
            refuse_line("the row has " + std::to_string(fields_.size()) + " fields, the header " +
                            std::to_string(header_.size()),
                        1);
            return false;
        }
        return true;
    }
    return false;
}

const std::string& CsvReader::text(Column column) const { return fields_.at(column); }

std::int64_t CsvReader::integer(Column column, std::int64_t low, std::int64_t high) {
    const auto value = parse_integer(text(column));
    if (!value) {
        refuse(column, "is not a whole number");
        return low;
    }
    if (*value < low || *value > high) {
        refuse(column, "is not between " + std::to_string(low) + " and " + std::to_string(high));
        return low;
    }
    return *value;
}

Duration CsvReader::seconds(Column column) {
    const auto value = parse_seconds(text(column));
    if (!value) {
        refuse(column, "is not a number of seconds between 0 and " + std::to_string(kSecondsMax));
        return Duration{};
    }
    return *value;
}

void CsvReader::refuse(Column column, const std::string& what) {
    refuse_line(header_.at(column) + " `" + fields_.at(column) + "` " + what, starts_.at(column));
}

void CsvReader::refuse_line(const std::string& what, int at_column) {
    if (error_) return;  // later errors are mostly consequences of the first
    error_ = make_error(ErrorCode::ValidationFailed, file_ + ":" + std::to_string(line_) + ":" +
                                                         std::to_string(at_column) + ": " + what);
    error_->details.push_back(Detail{Place{"", line_, at_column}, what});
}

std::string_view CsvReader::take_line() {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

void CsvReader::split(std::string_view line) {
    fields_.clear();
    starts_.clear();
    std::size_t at = 0;
    for (;;) {
        starts_.push_back(static_cast<int>(at) + 1);
        std::string field;
        if (at < line.size() && line[at] == '"') {
            const std::size_t close = line.find('"', at + 1);
            if (close == std::string_view::npos) {
                refuse_line("a quote is opened and not closed on this line", starts_.back());
                return;
            }
            field = line.substr(at + 1, close - at - 1);
            at = close + 1;
            if (at < line.size() && line[at] != ',') {
                refuse_line("a comma must follow the closing quote", static_cast<int>(at) + 1);
                return;
            }
        } else {
            const std::size_t comma = std::min(line.find(',', at), line.size());
            field = line.substr(at, comma - at);
            at = comma;
        }
        fields_.push_back(std::move(field));
        if (at >= line.size()) return;
        ++at;  // skips the comma
    }
}

}  // namespace gpuctl::replay
