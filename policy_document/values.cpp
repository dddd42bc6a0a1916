// Scalars of the configuration: reading with an exact message, printing as YAML that reads back.

#include <algorithm>
#include <array>

#include "policy_document/keys.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "text/duration.hpp"

namespace gpuctl::config {

void report_nothing_in(const wire::Field& field) {
    field.error("must not be empty; remove the key, or give it a value");
}

void report_none_of(const std::vector<std::string>& names, const std::string& written,
                    const wire::Field& field) {
    std::string message = "must be one of";
    for (const std::string& name : names) message += (&name == &names[0] ? " " : ", ") + name;
    const std::string nearest = wire::nearest_name(written, names);
    field.error(message + ", not \"" + written + "\"" +
                (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

// "" is a value with a meaning of its own, which the key's description gives.
void read_text(const wire::Field& field, std::string& value) {
    auto read = field.word(wire::Empty::is_value);
    if (!read) return;
    if (!read->empty() && read->find_first_not_of(" \t\r\n") == std::string::npos) {
        return field.error("must not be only blanks; give it a value, or remove the key");
    }
    value = std::move(*read);
}

void read_texts(const wire::Field& field, std::vector<std::string>& value) {
    if (field.is_null()) return report_nothing_in(field);
    if (!field.is_list()) return;
    value.clear();
    for (const wire::Field& element : field.elements()) {
        value.push_back(
            element.word().value_or(""));  // a wrong element still counts for other checks
    }
}

void read_text_map(const wire::Field& field, std::map<std::string, std::string>& value) {
    if (field.is_null()) return report_nothing_in(field);
    if (!field.is_map()) return;
    value.clear();
    for (const auto& [name, member] : field.json().items()) {
        const wire::Field at{field.document(), &member, wire::pointer_to(field.pointer(), name),
                             field.problems()};
        if (member.is_structured()) {
            at.error("must be text, not " + wire::kind_of(member));
        } else {
            value[name] = at.word(wire::Empty::is_value).value_or("");
        }
    }
}

std::optional<std::int64_t> read_size(const wire::Field& field, std::int64_t low,
                                      std::int64_t high) {
    const auto written = field.word();
    if (!written) return std::nullopt;
    const auto bytes = parse_bytes(*written);
    if (!bytes) {
        field.error("must be a size such as 64Mi, not \"" + *written + "\"");
        return std::nullopt;
    }
    if (bytes->value() < low || bytes->value() > high) {
        field.error("must be from " + format_bytes(Bytes{low}) + " to " +
                    format_bytes(Bytes{high}) + ", not " + *written);
        return std::nullopt;
    }
    return bytes->value();
}

namespace {

// "99999d" is a duration, but longer than any that is read.
bool is_longer_than_any(std::string text) {
    if (text::parse_duration(text)) return false;
    std::replace_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }, '0');
    return text::parse_duration(text).has_value();
}

}  // namespace

std::optional<std::int64_t> read_ms(const wire::Field& field, std::int64_t low, std::int64_t high) {
    const bool is_text = field && field.json().is_string();
    if (is_text && is_longer_than_any(field.json().get<std::string>())) {
        field.error("must be from " + yaml_ms(low) + " to " + yaml_ms(high) + ", not " +
                    field.json().get<std::string>());
        return std::nullopt;
    }
    const auto span = field.duration();
    if (!span) return std::nullopt;
    if (span->ms() < low || span->ms() > high) {
        field.error("must be from " + yaml_ms(low) + " to " + yaml_ms(high) + ", not " +
                    yaml_ms(span->ms()));
        return std::nullopt;
    }
    return span->ms();
}

std::optional<std::int64_t> read_thousandths(const wire::Field& field, std::string_view unit) {
    constexpr std::int64_t kMax = 1'000'000'000'000;  // a thousand million
    const auto written = field.word();
    if (!written) return std::nullopt;
    const auto milli = parse_quantity(*written, 3);
    if (milli && *milli >= 0 && *milli <= kMax) {
        constexpr std::int64_t kFinest = 1'000'000;  // finer than any unit, to detect rounding
        const auto exact = parse_quantity(*written, 9);
        if (!exact || *exact == *milli * kFinest) return milli;
        field.error("must be a number of " + std::string{unit} +
                    " with at most three decimals, not \"" + *written + "\"");
        return std::nullopt;
    }
    field.error("must be a number of " + std::string{unit} + ", 0 or more, not \"" + *written +
                "\"");
    return std::nullopt;
}

std::string yaml_text(std::string_view text) {
    constexpr auto reserved = std::to_array<std::string_view>(
        {"true", "false", "null", "yes", "no", "on", "off", "y", "n"});
    std::string lower{text};
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    const bool plain = !text.empty() && ((lower[0] >= 'a' && lower[0] <= 'z') || lower[0] == '/') &&
                       std::all_of(lower.begin(), lower.end(),
                                   [](char c) {
                                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                                              c == '/' || c == '-' || c == '_' || c == '.';
                                   }) &&
                       std::find(reserved.begin(), reserved.end(), lower) == reserved.end();
    if (plain) return std::string{text};
    // A JSON string is a double-quoted YAML scalar.
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string yaml_list(const std::vector<std::string>& texts) {
    std::string result;
    for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + yaml_text(text);
    return "[" + result + "]";
}

std::string yaml_map(const std::map<std::string, std::string>& members) {
    std::string result;
    for (const auto& [name, value] : members) {
        result += (result.empty() ? "" : ", ") + yaml_text(name) + ": " + yaml_text(value);
    }
    return "{" + result + "}";
}

std::string yaml_ms(std::int64_t ms) { return text::format_duration(Duration{ms}); }

std::string yaml_bytes(std::int64_t bytes) { return format_bytes(Bytes{bytes}); }

}  // namespace gpuctl::config
