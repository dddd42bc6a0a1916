#pragma once
// The tables that gpuctld.yaml, and a policy by itself, are read and printed by: one Key per member
// of a struct. Error messages, the commented file in config/, the names of environment variables
// and the list of reloadable keys derive from them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "policy_document/checks.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr std::int64_t kMsPerSecond = 1'000;
inline constexpr std::int64_t kMsPerMinute = 60 * kMsPerSecond;
inline constexpr std::int64_t kMsPerHour = 3'600 * kMsPerSecond;
inline constexpr std::int64_t kMsPerDay = 24 * kMsPerHour;

// One key with its value as it is printed.
struct Shown {
    enum class Form { scalar, map, list };
    std::string_view name;
    std::string_view meaning;
    Form form = Form::scalar;
    bool absent = false;         // no value: what follows is an example, printed as a comment
    bool moved = false;          // only read, to report the key's new place; never printed
    bool in_force = false;       // not written, and the value is what the program uses
    std::string without_effect;  // "with preemption.mode due"; empty: the value has an effect
    std::string value;           // scalar, as YAML
    std::vector<Shown> members;  // map
    std::vector<std::vector<Shown>> items;  // list of maps
};

template <typename T>
struct Key {
    std::string_view name;
    std::string_view meaning;
    bool required = false;
    std::function<void(const wire::Field&, T&)> read;
    std::function<void(const T&, Shown&)> show;
};

// Specialised for every struct: a policy's in tables.hpp.
template <typename T>
const std::vector<Key<T>>& keys();

// The error for a list, map or section that is written and empty.
void report_nothing_in(const wire::Field& field);

// The error for a word that is none of `names`, with the nearest of them.
void report_none_of(const std::vector<std::string>& names, const std::string& written,
                    const wire::Field& field);

// False: the field is no map, which has been reported.
template <typename T>
bool read_keys(const wire::Field& field, T& value, const std::vector<Key<T>>& table) {
    // An element of a list that is empty: an empty section is not read.
    if (!field) {
        field.error("must be a map of keys and values, not empty");
        return false;
    }
    if (!field.is_map()) return false;
    wire::Fields fields{field};
    for (const Key<T>& key : table) {
        const wire::Field found = key.required ? fields.require(key.name) : fields.find(key.name);
        if (found.is_written()) key.read(found, value);
    }
    fields.report_unknown(true);
    return true;
}

template <typename T>
void read_struct(const wire::Field& field, T& value) {
    if (read_keys(field, value, keys<T>())) check(value, field);
}

template <typename T>
std::vector<Shown> show_keys(const T& value, const std::vector<Key<T>>& table) {
    std::vector<Shown> result;
    for (const Key<T>& key : table) {
        Shown shown;
        shown.name = key.name;
        shown.meaning = key.meaning;
        key.show(value, shown);
        result.push_back(std::move(shown));
    }
    return result;
}

template <typename T>
std::vector<Shown> show_struct(const T& value) {
    return show_keys(value, keys<T>());
}

// An empty key in this file is an error: `maximum:` is not "no maximum". Only a section whose keys
// are all comments counts as absent, with a warning.
inline bool is_empty_section(const wire::Field& field) { return field.is_null(); }

// Scalars of each type; read_* report an error and then leave `value` unchanged.
void read_text(const wire::Field& field, std::string& value);
void read_texts(const wire::Field& field, std::vector<std::string>& value);
void read_text_map(const wire::Field& field, std::map<std::string, std::string>& value);
std::optional<std::int64_t> read_size(const wire::Field& field, std::int64_t low,
                                      std::int64_t high);
std::optional<std::int64_t> read_ms(const wire::Field& field, std::int64_t low, std::int64_t high);
std::optional<std::int64_t> read_thousandths(const wire::Field& field, std::string_view unit);

std::string yaml_text(std::string_view text);
std::string yaml_list(const std::vector<std::string>& texts);
std::string yaml_map(const std::map<std::string, std::string>& members);
std::string yaml_ms(std::int64_t ms);
std::string yaml_bytes(std::int64_t bytes);

// --- one maker per kind of member ---

template <typename T>
Key<T> text(std::string_view name, std::string T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) { read_text(field, value.*member); },
            [member](const T& value, Shown& shown) { shown.value = yaml_text(value.*member); }};
}

// Free text for people.
template <typename T>
Key<T> prose(std::string_view name, std::string T::* member, std::string_view meaning) {
    Key<T> key = text(name, member, meaning);
    key.read = [member](const wire::Field& field, T& value) {
        if (field.is_null()) return report_nothing_in(field);
        value.*member = field.text().value_or(value.*member);
    };
    return key;
}

template <typename T>
Key<T> required(Key<T> key) {
    key.required = true;
    return key;
}

template <typename T>
Key<T> flag(std::string_view name, bool T::* member, std::string_view meaning) {
    return {
        name, meaning, false,
        [member](const wire::Field& field, T& value) {
            if (const auto read = field.boolean()) value.*member = *read;
        },
        [member](const T& value, Shown& shown) { shown.value = value.*member ? "true" : "false"; }};
}

template <typename T, typename Number>
Key<T> count(std::string_view name, Number T::* member, std::int64_t low, std::int64_t high,
             std::string_view meaning) {
    return {
        name, meaning, false,
        [=](const wire::Field& field, T& value) {
            if (const auto read = field.integer(low, high)) {
                value.*member = static_cast<Number>(*read);
            }
        },
        [member](const T& value, Shown& shown) { shown.value = std::to_string(value.*member); }};
}

template <typename T>
Key<T> size(std::string_view name, std::size_t T::* member, std::int64_t low, std::int64_t high,
            std::string_view meaning) {
    return {name, meaning, false,
            [=](const wire::Field& field, T& value) {
                if (const auto read = read_size(field, low, high)) {
                    value.*member = static_cast<std::size_t>(*read);
                }
            },
            [member](const T& value, Shown& shown) {
                shown.value = yaml_bytes(static_cast<std::int64_t>(value.*member));
            }};
}

// std::chrono spans and the core's Duration.
template <typename T, typename Span>
Key<T> span(std::string_view name, Span T::* member, std::int64_t low_ms, std::int64_t high_ms,
            std::string_view meaning) {
    return {name, meaning, false,
            [=](const wire::Field& field, T& value) {
                const auto ms = read_ms(field, low_ms, high_ms);
                if (!ms) return;
                if constexpr (std::is_same_v<Span, seconds>) {
                    if (*ms % 1000 != 0) return field.error("must be whole seconds");
                    value.*member = seconds{*ms / 1000};
                } else {
                    value.*member = Span{*ms};
                }
            },
            [member](const T& value, Shown& shown) {
                if constexpr (std::is_same_v<Span, Duration>) {
                    shown.value = yaml_ms((value.*member).ms());
                } else {
                    shown.value = yaml_ms(milliseconds{value.*member}.count());
                }
            }};
}

template <typename T, typename Choice>
Key<T> choice(std::string_view name, Choice T::* member,
              std::vector<std::pair<std::string_view, Choice>> choices, std::string_view meaning) {
    const auto read = [=](const wire::Field& field, T& value) {
        const auto written = field.word();
        if (!written) return;
        std::vector<std::string> names;
        for (const auto& [word, choice] : choices) {
            if (*written == word) return void(value.*member = choice);
            names.emplace_back(word);
        }
        report_none_of(names, *written, field);
    };
    const auto show = [=](const T& value, Shown& shown) {
        for (const auto& [word, choice] : choices) {
            if (value.*member == choice) shown.value = yaml_text(word);
        }
    };
    return {name, meaning, false, read, show};
}

template <typename T>
Key<T> texts(std::string_view name, std::vector<std::string> T::* member,
             std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) { read_texts(field, value.*member); },
            [member](const T& value, Shown& shown) { shown.value = yaml_list(value.*member); }};
}

template <typename T>
Key<T> text_map(std::string_view name, std::map<std::string, std::string> T::* member,
                std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) { read_text_map(field, value.*member); },
            [member](const T& value, Shown& shown) { shown.value = yaml_map(value.*member); }};
}

template <typename T, typename Section>
Key<T> section(std::string_view name, Section T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                if (!is_empty_section(field)) read_struct(field, value.*member);
            },
            [member](const T& value, Shown& shown) {
                shown.form = Shown::Form::map;
                shown.members = show_struct(value.*member);
            }};
}

template <typename T, typename Section>
Key<T> optional_section(std::string_view name, std::optional<Section> T::* member, Section example,
                        std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                if (field.is_null()) return report_nothing_in(field);
                read_struct(field, (value.*member).emplace());
            },
            [=](const T& value, Shown& shown) {
                shown.form = Shown::Form::map;
                shown.absent = !(value.*member);
                shown.members = show_struct(shown.absent ? example : *(value.*member));
            }};
}

template <typename T, typename Item>
Key<T> list(std::string_view name, std::vector<Item> T::* member, Item example,
            std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                if (field.is_null()) return report_nothing_in(field);
                (value.*member).clear();
                for (const wire::Field& element : field.elements()) {
                    read_struct(element, (value.*member).emplace_back());
                }
            },
            [=](const T& value, Shown& shown) {
                shown.form = Shown::Form::list;
                shown.absent = (value.*member).empty();
                for (const Item& item : value.*member) shown.items.push_back(show_struct(item));
                if (shown.absent) shown.items.push_back(show_struct(example));
            }};
}

// A key of a base as a key of the struct that is derived from it.
template <typename Whole, typename Base>
Key<Whole> of_base(Key<Base> key) {
    return {key.name, key.meaning, key.required,
            [read = key.read](const wire::Field& field, Whole& value) { read(field, value); },
            [show = key.show](const Whole& value, Shown& shown) { show(value, shown); }};
}

// A key of a part as a key of the whole that holds the part.
template <typename Whole, typename Part>
Key<Whole> lift(Part Whole::* part, Key<Part> key) {
    return {
        key.name, key.meaning, key.required,
        [part, read = key.read](const wire::Field& field, Whole& value) {
            read(field, value.*part);
        },
        [part, show = key.show](const Whole& value, Shown& shown) { show(value.*part, shown); }};
}

template <typename Whole, typename Part>
std::vector<Key<Whole>> lift_all(Part Whole::* part, const std::vector<Key<Part>>& table) {
    std::vector<Key<Whole>> lifted;
    for (const Key<Part>& key : table) lifted.push_back(lift(part, key));
    return lifted;
}

// A section whose keys belong to the same struct as the section itself. `finish` runs after its
// keys have been read.
template <typename T>
Key<T> group(std::string_view name, std::vector<Key<T>> members, std::string_view meaning,
             std::function<void(const wire::Field&, T&)> finish = {}) {
    return {name, meaning, false,
            [members, finish](const wire::Field& field, T& value) {
                if (is_empty_section(field)) return;
                if (read_keys(field, value, members) && finish) finish(field, value);
            },
            [members](const T& value, Shown& shown) {
                shown.form = Shown::Form::map;
                shown.members = show_keys(value, members);
            }};
}

// A key that has moved: using it is an error that names its new place. `advice` continues the key's
// name: "has moved to expert.scheduling.usageHalfLife".
template <typename T>
Key<T> moved(std::string_view name, std::string_view advice) {
    return {name, advice, false,
            [advice](const wire::Field& field, T&) { field.error(std::string{advice}); },
            [](const T&, Shown& shown) { shown.moved = true; }};
}

}  // namespace gpuctl::config
