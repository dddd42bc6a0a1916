#include "wire/job/fields.hpp"

#include <algorithm>
#include <tuple>

#include "text/duration.hpp"

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

bool Problems::is_new(const Detail& detail) {
    return reported_.insert(detail.place.pointer + '\n' + detail.message).second;
}

void Problems::add_error(Detail detail) {
    wrong_.insert(detail.place.pointer);
    if (is_new(detail)) errors.push_back(std::move(detail));
}

void Problems::add_warning(Detail detail) {
    if (is_new(detail)) warnings.push_back(std::move(detail));
}

bool Problems::has_error_at(const std::string& pointer) const { return wrong_.contains(pointer); }

void Field::error(std::string message) const {
    problems_->add_error({document_->place_of(pointer_), std::move(message)});
}

void Field::warning(std::string message) const {
    problems_->add_warning({document_->place_of(pointer_), std::move(message)});
}

namespace {

// "resources.gpu" for /resources/gpu: the name of a key in messages.
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

void Field::report_empty() const {
    if (problems_->has_error_at(pointer_)) return;
    error(dotted(pointer_) + " is empty; give it a value or leave it out");
}

std::optional<std::string> Field::scalar() const {
    if (value_ == nullptr) return std::nullopt;
    if (value_->is_primitive()) return document_->text_of(pointer_, *value_);
    error(dotted(pointer_) + " must be text, not " + kind_of(*value_));
    return std::nullopt;
}

bool Field::check_invisible(const std::string& value, text::Where where) const {
    const auto found = text::first_invisible(value, where);
    if (!found) return true;
    const bool is_script = where == text::Where::script;
    Detail detail{document_->place_of(pointer_),
                  dotted(pointer_) + " contains " + to_string(*found)};
    const auto place = document_->invisible.find(pointer_);
    if (place != document_->invisible.end() && place->second.code == found->code) {
        detail.place.line = place->second.line;
        detail.place.column = place->second.column;
        detail.message += " at line " + std::to_string(place->second.line) + ", column " +
                          std::to_string(place->second.column);
    } else {
        detail.message += " (character " +
                          std::to_string(text::characters_before(value, found->offset) + 1) + ")";
    }
    detail.message += is_script ? "; it is passed on unchanged" : "; remove it";
    if (is_script) {
        problems_->add_warning(std::move(detail));
    } else {
        problems_->add_error(std::move(detail));
    }
    return is_script;
}

std::optional<std::string> Field::word(Empty empty) const {
    if (is_null_) report_empty();
    auto value = scalar();
    if (!value || !check_invisible(*value, text::Where::name)) return std::nullopt;
    const bool says_nothing = value->find_first_not_of(" \t\r\n") == std::string::npos;
    if (!says_nothing || empty == Empty::is_value) return value;
    if (empty == Empty::is_error) {
        report_empty();
    } else {
        warning(dotted(pointer_) + " is empty and counts as not given");
    }
    return std::nullopt;
}

std::optional<std::string> Field::script() const {
    if (is_null_) {
        error(dotted(pointer_) + " is empty; write \"\" if that is intended, or remove it");
    }
    auto value = scalar();
    if (value) (void)check_invisible(*value, text::Where::script);
    return value;
}

std::optional<std::string> Field::text() const { return scalar(); }

// For numbers and the like: false when the value is absent or an error has been reported.
bool Field::check_number() const {
    if (is_null_) report_empty();
    if (value_ == nullptr) return false;
    return !value_->is_string() ||
           check_invisible(value_->get_ref<const std::string&>(), text::Where::name);
}

std::optional<std::int64_t> Field::integer(std::int64_t low, std::int64_t high) const {
    if (!check_number()) return std::nullopt;
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
    if (!check_number()) return std::nullopt;
    if (value_->is_boolean()) return value_->get<bool>();
    const std::string found =
        value_->is_string() ? shown(value_->get<std::string>()) : kind_of(*value_);
    error(dotted(pointer_) + " must be true or false, not " + found);
    return std::nullopt;
}

std::optional<Duration> Field::duration() const {
    const auto written = word();
    if (!written) return std::nullopt;
    if (*written == "0") return Duration{};
    if (const auto duration = text::parse_duration(*written)) return duration;
    error(dotted(pointer_) + " must be a duration such as 90s, 15m, 4h or 2d, not " +
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
    error(dotted(pointer_) + " must be a list, not " + kind_of(*value_) +
          (value_->is_object() ? "; write [a, b], or each element on a line of its own after \"- \""
                               : ""));
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

std::vector<std::string> Field::words() const {
    std::vector<std::string> result;
    for (const Field& element : elements()) {
        if (auto word = element.word()) result.push_back(std::move(*word));
    }
    return result;
}

std::vector<std::string> Field::scripts() const {
    std::vector<std::string> result;
    for (const Field& element : elements()) {
        if (auto word = element.script()) result.push_back(std::move(*word));
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

Field Fields::find(std::span<const std::string_view> names) {
    known_.emplace_back(names.front());
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

Field Fields::require(std::span<const std::string_view> names, const std::string& example) {
    Field field = find(names);
    if (!field && usable_) {
        const std::string name = dotted(pointer_to(map_.pointer(), names.front()));
        if (field.is_null()) {
            field.error(name + " is empty; give it a value");
        } else {
            map_.error(name + " is missing" +
                       (example.empty() ? "" : "; write, for example, " + example));
        }
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

void Fields::report_empty() const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const std::string& key = all_[i].second;
        const nlohmann::json& value = map_.json()[key];
        const std::string pointer = pointer_to(map_.pointer(), key);
        if (!taken_[i] || !value.is_null() || map_.problems().has_error_at(pointer)) continue;
        Field{map_.document(), &value, pointer, map_.problems()}.warning(
            dotted(pointer) + " is empty and counts as not given");
    }
}

void Fields::report_unknown(bool as_errors, const Home& home) const {
    for (const auto& [key, field] : unknown()) {
        const std::string nearest = nearest_name(key, known_);
        const std::string elsewhere = home ? home(key) : "";
        std::string message = "unknown key " + shown(key);
        if (!elsewhere.empty()) {
            message += " here; its place is " + elsewhere;
        } else if (!nearest.empty()) {
            message += "; did you mean " + nearest + "?";
        }
        Detail detail{map_.document().place_of(pointer_to(map_.pointer(), key)), message};
        if (as_errors) {
            map_.problems().add_error(std::move(detail));
        } else {
            map_.problems().add_warning(std::move(detail));
        }
    }
    report_empty();
}

}  // namespace gpuctl::wire
