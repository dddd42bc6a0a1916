#pragma once
// Reading a parsed document field by field: every problem is collected with its place, so that one
// attempt tells all that is wrong. Keys are compared without hyphens, underscores and case.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/wire/document.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::wire {

struct Problems {
    std::vector<Detail> errors;
    std::vector<Detail> warnings;
    // In document order, each list.
    void sort();
};

// One value of a document, or its absence (a null counts as absent).
class Field {
public:
    Field() = default;
    Field(const Document& document, const nlohmann::json* value, std::string pointer,
          Problems& problems)
        : document_(&document),
          value_(value != nullptr && value->is_null() ? nullptr : value),
          pointer_(std::move(pointer)),
          problems_(&problems) {}

    explicit operator bool() const { return value_ != nullptr; }
    [[nodiscard]] const nlohmann::json& json() const { return *value_; }
    [[nodiscard]] const std::string& pointer() const { return pointer_; }
    [[nodiscard]] const Document& document() const { return *document_; }
    [[nodiscard]] Problems& problems() const { return *problems_; }

    void error(std::string message) const;
    void warning(std::string message) const;

    // Each reads the value or reports what is wrong with it; nullopt when absent or wrong.
    [[nodiscard]] std::optional<std::string> text() const;  // numbers and booleans as written
    [[nodiscard]] std::optional<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
    [[nodiscard]] std::optional<bool> boolean() const;
    [[nodiscard]] std::optional<Duration> duration() const;
    [[nodiscard]] bool is_map() const;                  // reports when present and something else
    [[nodiscard]] bool is_list() const;                 // likewise
    [[nodiscard]] std::vector<Field> elements() const;  // of a list
    [[nodiscard]] std::vector<std::string> texts() const;  // of a list of scalars

private:
    const Document* document_ = nullptr;
    const nlohmann::json* value_ = nullptr;
    std::string pointer_;
    Problems* problems_ = nullptr;
};

// What a value is, for messages: "text", "a number", "a list" ...
std::string kind_of(const nlohmann::json& value);

// The members of one map. Every key asked for becomes known; `refuse_unknown` and `each_unknown`
// deal with the rest.
class Fields {
public:
    // A field that is absent or not a map has no members.
    explicit Fields(const Field& map);

    // By any of these spellings, the canonical one first; two of them at once is an error.
    [[nodiscard]] Field find(std::initializer_list<std::string_view> names);
    [[nodiscard]] Field find(std::string_view name) { return find({name}); }

    // Absent: reports "<name> is missing".
    [[nodiscard]] Field require(std::initializer_list<std::string_view> names);
    [[nodiscard]] Field require(std::string_view name) { return require({name}); }

    // Every member nobody asked for.
    [[nodiscard]] std::vector<std::pair<std::string, Field>> unknown() const;
    // ... reported as unknown, with the nearest known name; errors or warnings.
    void report_unknown(bool as_errors) const;

private:
    Field map_;
    bool usable_ = false;
    std::vector<std::string> known_;                        // as they should be written
    std::vector<std::pair<std::string, std::string>> all_;  // folded and written name of each key
    std::vector<bool> taken_;
};

// Lower case, without hyphens and underscores.
std::string folded_key(std::string_view key);

}  // namespace gpuctl::wire
