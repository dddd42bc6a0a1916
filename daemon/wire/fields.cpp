#include "daemon/wire/fields.hpp"

#include <algorithm>
#include <tuple>

#include "daemon/wire/duration.hpp"

namespace gpuctl::wire {

using nlohmann::json;

void Problems::sort() {
    const auto earlier = [](const Detail& a, const Detail& b) {
        return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
    };
    std::stable_sort(errors.begin(), errors.end(), earlier);
    std::stable_sort(warnings.begin(), warnings.end(), earlier);
}

std::string kind_of(const json& value) {
    switch (value.type()) {
        case json::value_t::object:
            return "a map";
        case json::value_t::array:
            return "a list";
        case json::value_t::string:
            return "text";
        case json::value_t::boolean:
            return "true or false";
        case json::value_t::number_integer:
        case json::value_t::number_unsigned:
            return "a whole number";
        case json::value_t::number_float:
            return "a decimal number";
        case json::value_t::null:
            return "empty";
        case json::value_t::binary:
        case json::value_t::discarded:
            break;
    }
    return "something else";
}

void Field::error(std::string message) const {
    problems_->errors.push_back({document_->place_of(pointer_), std::move(message)});
}

void Field::warning(std::string message) const {
    problems_->warnings.push_back({document_->place_of(pointer_), std::move(message)});
}

namespace {

// "resources.gpu" for /resources/gpu: how people name a key.
std::string dotted(std::string_view pointer) {
    if (!pointer.empty()) pointer.remove_prefix(1);
    std::string name;
    for (std::size_t i = 0; i < pointer.size(); ++i) {
        if (pointer[i] == '~' && i + 1 < pointer.size()) {
            name += pointer[++i] == '0' ? '~' : '/';
        } else {
            name += pointer[i] == '/' ? '.' : pointer[i];
        }
    }
    return name.empty() ? "the document" : name;
}

std::string shown(const std::string& text) {
    constexpr std::size_t kShownMax = 60;
    if (text.size() <= kShownMax) return "\"" + text + "\"";
    std::size_t end = kShownMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return "\"" + text.substr(0, end) + "...\"";
}

}  // namespace

std::optional<std::string> Field::text() const {
    if (value_ == nullptr) return std::nullopt;
    if (value_->is_primitive()) return document_->text_of(pointer_, *value_);
    error(dotted(pointer_) + " must be text, not " + kind_of(*value_));
    return std::nullopt;
}

std::optional<std::int64_t> Field::integer(std::int64_t low, std::int64_t high) const {
    if (value_ == nullptr) return std::nullopt;
    const std::string range = std::to_string(low) + " to " + std::to_string(high);
    if (!value_->is_number_integer()) {
        const std::string found =
            value_->is_string() ? shown(value_->get<std::string>()) : kind_of(*value_);
        error(dotted(pointer_) + " must be a whole number from " + range + ", not " + found);
        return std::nullopt;
    }
    const bool too_large = value_->is_number_unsigned() &&
                           value_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    const std::int64_t number = too_large ? INT64_MAX : value_->get<std::int64_t>();
    if (too_large || number < low || number > high) {
        error(dotted(pointer_) + " must be from " + range + ", not " + value_->dump());
        return std::nullopt;
    }
    return number;
}

std::optional<bool> Field::boolean() const {
    if (value_ == nullptr) return std::nullopt;
    if (value_->is_boolean()) return value_->get<bool>();
    const std::string found =
        value_->is_string() ? shown(value_->get<std::string>()) : kind_of(*value_);
    error(dotted(pointer_) + " must be true or false, not " + found);
    return std::nullopt;
}

std::optional<Duration> Field::duration() const {
    const auto written = text();
    if (!written) return std::nullopt;
    if (*written == "0") return Duration{};
    if (const auto duration = parse_duration(*written)) return duration;
    error(dotted(pointer_) + " must be a span of time such as 90s, 15m, 4h or 2d, not " +
          shown(*written));
    return std::nullopt;
}

bool Field::is_map() const {
    if (value_ == nullptr) return false;
    if (value_->is_object()) return true;
    error(dotted(pointer_) + " must be a map of keys and values, not " + kind_of(*value_));
    return false;
}

bool Field::is_list() const {
    if (value_ == nullptr) return false;
    if (value_->is_array()) return true;
    error(dotted(pointer_) + " must be a list, not " + kind_of(*value_));
    return false;
}

std::vector<Field> Field::elements() const {
    std::vector<Field> result;
    if (!is_list()) return result;
    for (std::size_t i = 0; i < value_->size(); ++i) {
        result.emplace_back(*document_, &(*value_)[i], pointer_to(pointer_, i), *problems_);
    }
    return result;
}

std::vector<std::string> Field::texts() const {
    std::vector<std::string> result;
    if (!is_list()) return result;
    for (std::size_t i = 0; i < value_->size(); ++i) {
        const nlohmann::json& element = (*value_)[i];
        const std::string at = pointer_to(pointer_, i);
        if (element.is_primitive()) {
            result.push_back(element.is_null() ? "" : document_->text_of(at, element));
        } else {
            Field{*document_, &element, at, *problems_}.error(dotted(at) + " must be text, not " +
                                                              kind_of(element));
        }
    }
    return result;
}

std::string folded_key(std::string_view key) {
    std::string result;
    for (const char c : key) {
        if (c == '-' || c == '_') continue;
        result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

Fields::Fields(const Field& map) : map_(map), usable_(map && map.is_map()) {
    if (!usable_) return;
    for (const auto& [key, value] : map.json().items()) all_.emplace_back(folded_key(key), key);
    taken_.resize(all_.size());
}

Field Fields::find(std::initializer_list<std::string_view> names) {
    known_.emplace_back(*names.begin());
    Field found;
    if (!usable_) return found;
    std::string found_as;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const bool matches = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
            return folded_key(name) == all_[i].first;
        });
        if (!matches) continue;
        taken_[i] = true;
        const std::string& key = all_[i].second;
        Field field{map_.document(), &map_.json()[key], pointer_to(map_.pointer(), key),
                    map_.problems()};
        if (!found_as.empty()) {
            field.error(key + " and " + found_as + " are the same key; give it once");
            continue;
        }
        found_as = key;
        found = field;
    }
    return found;
}

Field Fields::require(std::initializer_list<std::string_view> names) {
    Field field = find(names);
    if (!field && usable_) {
        const std::string name = dotted(pointer_to(map_.pointer(), *names.begin()));
        map_.error(name + " is missing");
    }
    return field;
}

std::vector<std::pair<std::string, Field>> Fields::unknown() const {
    std::vector<std::pair<std::string, Field>> result;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (taken_[i]) continue;
        const std::string& key = all_[i].second;
        result.emplace_back(key, Field{map_.document(), &map_.json()[key],
                                       pointer_to(map_.pointer(), key), map_.problems()});
    }
    return result;
}

void Fields::report_unknown(bool as_errors) const {
    for (const auto& [key, field] : unknown()) {
        const std::string nearest = nearest_name(key, known_);
        std::string message = "unknown key " + shown(key);
        if (!nearest.empty()) message += "; did you mean " + nearest + "?";
        Detail detail{map_.document().place_of(pointer_to(map_.pointer(), key)), message};
        auto& list = as_errors ? map_.problems().errors : map_.problems().warnings;
        list.push_back(std::move(detail));
    }
}

}  // namespace gpuctl::wire
