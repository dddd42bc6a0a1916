#include "cli/output.hpp"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/configuration.hpp"
#include "text/duration.hpp"
#include "text/time.hpp"

namespace gpuctl::cli {
namespace {

// Decodes one UTF-8 character and moves past it; a malformed byte counts as itself.
char32_t next_character(std::string_view& text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
    if (lead < 0x80 || length > text.size() || lead < 0xc0) {
        text.remove_prefix(1);
        return lead;
    }
    char32_t character = lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        character = (character << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    text.remove_prefix(length);
    return character;
}

// Blocks of Unicode's East_Asian_Width=W/F that occur in practice, and emoji.
bool is_wide(char32_t c) {
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
           (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
           (c >= 0x20000 && c <= 0x3fffd);
}

void emit_yaml(YAML::Emitter& out, const nlohmann::json& value) {
    switch (value.type()) {
        case nlohmann::json::value_t::object:
            out << YAML::BeginMap;
            for (const auto& [key, member] : value.items()) {
                out << YAML::Key << key << YAML::Value;
                emit_yaml(out, member);
            }
            out << YAML::EndMap;
            break;
        case nlohmann::json::value_t::array:
            out << YAML::BeginSeq;
            for (const auto& element : value) emit_yaml(out, element);
            out << YAML::EndSeq;
            break;
        case nlohmann::json::value_t::string: {
            const auto& text = value.get_ref<const std::string&>();
            const bool many_lines = text.find('\n') != std::string::npos;
            // Quoted when a YAML reader would read the bare word as another type.
            const bool ambiguous =
                !many_lines && !nlohmann::json::parse(text, nullptr, false).is_discarded();
            if (many_lines) out << YAML::Literal;
            if (ambiguous) out << YAML::DoubleQuoted;
            out << text;
            break;
        }
        case nlohmann::json::value_t::null:
            out << YAML::Null;
            break;
        default:
            out << value.dump();
    }
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::add_row(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    cells.resize(header_.size());
    rows_.push_back(std::move(cells));
}

namespace {

// Green: it works; yellow: it waits; red: it failed. Other words have no color.
std::string_view color_of(std::string_view status) {
    constexpr std::array<std::string_view, 5> good{"Running", "Succeeded", "active", "Active",
                                                   "OK"};
    constexpr std::array<std::string_view, 6> waits{"Pending",     "Partially Running", "Paused",
                                                    "maintaining", "Terminating",       "empty"};
    constexpr std::array<std::string_view, 5> bad{"Failed", "faulty", "Error", "OOMKilled",
                                                  "PROBLEM"};
    const auto is_in = [&](auto& words) {
        return std::find(std::begin(words), std::end(words), status) != std::end(words);
    };
    if (is_in(good)) return "\x1b[32m";
    if (is_in(waits)) return "\x1b[33m";
    const bool is_trouble = status.find("BackOff") != std::string_view::npos ||
                            status.starts_with("Err") || status.starts_with("Invalid");
    return is_in(bad) || is_trouble ? "\x1b[31m" : "";
}

}  // namespace

void Table::print(std::ostream& out, const TableStyle& style) const {
    std::vector<std::size_t> own;
    std::vector<std::size_t>& widths = style.widths != nullptr ? *style.widths : own;
    widths.resize(std::max(widths.size(), header_.size()));
    const auto widen = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(row[i]));
        }
    };
    if (style.has_header) widen(header_);
    for (const auto& row : rows_) widen(row);
    const auto print_row = [&](const std::vector<std::string>& row, bool is_colored) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string_view color =
                is_colored && header_[i] == "STATUS" ? color_of(row[i]) : std::string_view{};
            line += color;
            line += row[i];
            if (!color.empty()) line += "\x1b[0m";
            if (i + 1 < row.size()) line.append(widths[i] - display_width(row[i]) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
    };
    if (style.has_header) print_row(header_, false);
    for (const auto& row : rows_) print_row(row, style.is_colored);
}

std::string printable(std::string_view text, bool lines) {
    std::string clean;
    clean.reserve(text.size());
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            clean.push_back(c);
        } else if (c == '\t' || (lines && c == '\n')) {
            clean.push_back(c);
        } else if (c == '\n') {
            clean.push_back(' ');
        }
    }
    return clean;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) width += is_wide(next_character(text)) ? 2U : 1U;
    return width;
}

std::string text_of(const nlohmann::json& object, std::string_view key,
                    std::string_view otherwise) {
    if (!object.is_object()) return std::string{otherwise};
    const auto member = object.find(key);
    if (member == object.end() || member->is_null()) return std::string{otherwise};
    if (member->is_string()) {
        const auto& text = member->get_ref<const std::string&>();
        return text.empty() ? std::string{otherwise} : text;
    }
    return member->dump();
}

std::string number_of(const nlohmann::json& object, std::string_view key) {
    if (!object.is_object()) return "0";
    const auto member = object.find(key);
    if (member == object.end() || !member->is_number()) return "0";
    const double value = member->get<double>();
    if (std::floor(value) == value) return std::to_string(static_cast<std::int64_t>(value));
    return member->dump();
}

std::int64_t seconds_since(std::string_view rfc3339, std::int64_t now_ms) {
    const std::optional<text::TimeStamp> then = text::parse_rfc3339(rfc3339);
    return then ? std::max<std::int64_t>(0, now_ms / 1000 - then->seconds) : -1;
}

namespace {

constexpr std::string_view kAtOnce = "0s";

// How far away a member of estimatedStart is; nothing when it is null.
std::optional<std::int64_t> seconds_until(const nlohmann::json& job, std::string_view member,
                                          std::int64_t now_ms) {
    const nlohmann::json estimate = job.value("estimatedStart", nlohmann::json{});
    const std::string at = text_of(estimate, member);
    if (at.empty()) return std::nullopt;
    // Symmetric around now: one of the two durations is 0.
    constexpr std::int64_t far_ms = std::int64_t{1} << 50;
    const std::int64_t since = seconds_since(at, far_ms);
    if (since < 0) return std::nullopt;
    return far_ms / 1000 - since - now_ms / 1000;
}

std::string until(const nlohmann::json& job, std::string_view member, std::int64_t now_ms,
                  text::Rounding rounding) {
    const std::optional<std::int64_t> seconds = seconds_until(job, member, now_ms);
    return seconds ? text::format_span(*seconds, rounding) : "";
}

// An estimate below an hour is rounded to minutes, which may take it past the latest start.
bool rounds_past_latest(const nlohmann::json& job, std::int64_t now_ms) {
    const std::optional<std::int64_t> likely = seconds_until(job, "likely", now_ms);
    const std::optional<std::int64_t> latest = seconds_until(job, "latest", now_ms);
    return likely && latest && *likely >= 60 && *latest < 3'600 &&
           (*likely + 30) / 60 * 60 > *latest;
}

}  // namespace

std::string start_words(const nlohmann::json& job, std::int64_t now_ms) {
    const std::string earliest = until(job, "earliest", now_ms, text::Rounding::down);
    const std::string latest = until(job, "latest", now_ms, text::Rounding::up);
    const std::string likely = rounds_past_latest(job, now_ms)
                                   ? latest
                                   : until(job, "likely", now_ms, text::Rounding::nearest);
    if (likely.empty() && earliest.empty() && latest.empty()) return "";
    const bool from_now_on = earliest == kAtOnce;
    if (likely.empty() && !latest.empty()) {
        if (earliest == latest) return "in " + latest;
        if (earliest.empty() || from_now_on) return "in " + latest + " at the latest";
        return "between " + earliest + " and " + latest + " from now";
    }
    std::string bounds;
    if (!earliest.empty() && !(from_now_on && likely.empty())) {
        bounds = (from_now_on ? "now" : "in " + earliest) + " at the earliest";
    }
    if (!latest.empty()) bounds += (bounds.empty() ? "in " : ", in ") + latest + " at the latest";
    if (likely.empty()) {
        return "at a time that cannot be estimated yet" + (bounds.empty() ? "" : ", " + bounds);
    }
    // A smaller job behind it could take the capacity first, so a time alone would be wrong.
    const bool may_be_passed = job.at("estimatedStart").value("mayBeOvertaken", false);
    std::string passed = ", unless smaller jobs start first; no capacity is reserved for it";
    if (!text_of(job.at("estimatedStart"), "reservedFrom").empty()) {
        const std::string kept_in = until(job, "reservedFrom", now_ms, text::Rounding::up);
        const bool is_to_come = !kept_in.empty() && kept_in != kAtOnce;
        passed += is_to_come ? " in the next " + kept_in + " or before it is head of line"
                             : " before it is head of line";
    }
    return "in about " + likely + (bounds.empty() ? "" : " (" + bounds + ")") +
           (may_be_passed ? passed : "");
}

std::string start_short(const nlohmann::json& job, std::int64_t now_ms) {
    const std::string likely = until(job, "likely", now_ms, text::Rounding::nearest);
    return likely.empty() ? "-" : likely;
}

bool is_colored(const std::string& color) {
    if (color != "auto") return color == "always";
    if (!environment("NO_COLOR").empty()) return false;
    const std::string forced = environment("CLICOLOR_FORCE");
    if (!forced.empty() && forced != "0") return true;
    return isatty(STDOUT_FILENO) == 1 && environment("TERM") != "dumb";
}

void print_json(std::ostream& out, const nlohmann::json& value) {
    out << value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_yaml(std::ostream& out, const nlohmann::json& value) {
    YAML::Emitter emitter;
    emit_yaml(emitter, value);
    out << emitter.c_str() << '\n';
}

void print_document(std::ostream& out, const nlohmann::json& value, Format format) {
    if (format == Format::yaml) return print_yaml(out, value);
    print_json(out, value);
}

}  // namespace gpuctl::cli
