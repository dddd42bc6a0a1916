#pragma once
// Reading a parsed document field by field: every problem is collected with its place, so that one
// attempt reports them all. Keys are compared without hyphens, underscores and case.
//
// A key that is written without a value is never treated as absent. YAML's `key:`, `key: null` and
// JSON's null are one thing:
//
//   read as                        key:        ""                    an invisible character
//   word, integer, boolean,        error       error                 error
//     duration
//   word, Empty::is_warned         error       warning, not given    error
//   word, Empty::is_value          error       the value ""          error
//   words (a list), each           error       error                 error
//   script, scripts                error       the value ""          warning
//   text                           warning     the value ""          accepted
//   maps, lists, all else          warning     error: not a map      -

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/time.hpp"
#include "text/characters.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::wire {

struct Problems {
    std::vector<Detail> errors;
    std::vector<Detail> warnings;

    // Adds a problem once, even if several checks find it.
    void add_error(Detail detail);
    void add_warning(Detail detail);
    [[nodiscard]] bool has_error_at(const std::string& pointer) const;
    // In document order, each list.
    void sort();

private:
    [[nodiscard]] bool is_new(const Detail& detail);

    std::set<std::string> reported_;
    std::set<std::string> wrong_;  // pointers
};

// What "" means where a word is read.
enum class Empty : std::uint8_t { is_error, is_warned, is_value };

// One value of a document, or its absence.
class Field {
public:
    Field() = default;
    Field(const Document& document, const nlohmann::json* value, std::string pointer,
          Problems& problems)
        : document_(&document),
          value_(value != nullptr && value->is_null() ? nullptr : value),
          is_null_(value != nullptr && value->is_null()),
          pointer_(std::move(pointer)),
          problems_(&problems) {}

    // Whether there is a value; a key without a value has none.
    explicit operator bool() const { return value_ != nullptr; }
    // Whether the key is there.
    [[nodiscard]] bool is_written() const { return value_ != nullptr || is_null_; }
    [[nodiscard]] bool is_null() const { return is_null_; }
    [[nodiscard]] const nlohmann::json& json() const { return *value_; }
    [[nodiscard]] const std::string& pointer() const { return pointer_; }
    [[nodiscard]] const Document& document() const { return *document_; }
    [[nodiscard]] Problems& problems() const { return *problems_; }

    void error(std::string message) const;
    void warning(std::string message) const;

    // Each reads the value or reports its problem; nullopt when absent or wrong. Numbers and
    // booleans are returned as written. Names, quantities, choices, addresses, paths.
    [[nodiscard]] std::optional<std::string> word(Empty empty = Empty::is_error) const;
    // A word of a command, the value of a variable: passed on unchanged.
    [[nodiscard]] std::optional<std::string> script() const;
    // For people to read.
    [[nodiscard]] std::optional<std::string> text() const;
    [[nodiscard]] std::optional<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
    [[nodiscard]] std::optional<bool> boolean() const;
    [[nodiscard]] std::optional<Duration> duration() const;
    [[nodiscard]] bool is_map() const;                  // reports when present and something else
    [[nodiscard]] bool is_list() const;                 // likewise
    [[nodiscard]] std::vector<Field> elements() const;  // of a list
    [[nodiscard]] std::vector<std::string> words() const;    // of a list; wrong ones are left out
    [[nodiscard]] std::vector<std::string> scripts() const;  // likewise

private:
    [[nodiscard]] std::optional<std::string> scalar() const;
    // False: the value holds an invisible character, which has been reported.
    [[nodiscard]] bool check_invisible(const std::string& value, text::Where where) const;
    [[nodiscard]] bool check_number() const;
    void report_empty() const;

    const Document* document_ = nullptr;
    const nlohmann::json* value_ = nullptr;
    bool is_null_ = false;
    std::string pointer_;
    Problems* problems_ = nullptr;
};

// The type of a value, for messages: "text", "a number", "a list" ...
std::string kind_of(const nlohmann::json& value);

// The members of one map. Every key that is read becomes known; `unknown` and `report_unknown`
// handle the rest.
class Fields {
public:
    // A field that is absent or not a map has no members.
    explicit Fields(const Field& map);

    // By any of these spellings, the canonical one first; two of them at once is an error.
    [[nodiscard]] Field find(std::span<const std::string_view> names);
    [[nodiscard]] Field find(std::initializer_list<std::string_view> names) {
        return find(std::span{names.begin(), names.size()});
    }
    [[nodiscard]] Field find(std::string_view name) { return find({name}); }

    // Absent: reports "<name> is missing", with what could be written.
    [[nodiscard]] Field require(std::span<const std::string_view> names,
                                const std::string& example = "");
    [[nodiscard]] Field require(std::initializer_list<std::string_view> names) {
        return require(std::span{names.begin(), names.size()});
    }
    [[nodiscard]] Field require(std::string_view name) { return require({name}); }

    // Every member that was not read.
    [[nodiscard]] std::vector<std::pair<std::string, Field>> unknown() const;
    // Reports them as unknown, with the nearest known name, as errors or warnings. Then calls
    // report_empty(). `home` names the place of a key that is known elsewhere, or "".
    using Home = std::function<std::string(std::string_view key)>;
    void report_unknown(bool as_errors, const Home& home = {}) const;
    // Warns of read members that are empty, unless an error of them was reported.
    void report_empty() const;

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
