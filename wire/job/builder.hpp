#pragma once
// Builds one Document from the events of a YAML or JSON parser and enforces DocumentLimits while
// doing so. The first problem wins: it is thrown as DocumentProblem, which parse_yaml and
// parse_json turn into an Error; it never leaves this room.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/characters.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::wire {

struct Position {
    int line = 0;
    int column = 0;
};

struct DocumentProblem {
    Position at;
    std::string message;
    std::string pointer = {};
};

class Builder {
public:
    // `limits` outlives the builder.
    explicit Builder(const DocumentLimits& limits) : limits_(limits) {}

    void begin_map(Position at, std::size_t anchor = 0);
    void begin_list(Position at, std::size_t anchor = 0);
    void end();
    // True when the next scalar is a member's key, not a value.
    [[nodiscard]] bool expects_key() const;
    void key(std::string name, Position at, bool merge = false);
    // The next value holds that invisible character.
    void mark_invisible(char32_t code, Position at) {
        invisible_next_ = InvisibleAt{code, at.line, at.column};
    }
    // `written` is kept for values that are not strings.
    void value(nlohmann::json value, std::string written, Position at, std::size_t anchor = 0);
    void alias(std::size_t anchor, Position at);

    [[nodiscard]] bool empty() const { return !root_; }
    Document finish();

private:
    struct Frame {
        nlohmann::json value;
        std::string pointer;
        std::size_t anchor = 0;
        std::optional<std::string> key;  // of the member being read
        bool merging = false;            // the member being read is `<<`
        std::map<std::string, Position> keys;
        std::vector<nlohmann::json> merges;
        std::size_t nodes = 1;  // of the finished part, for aliases
        std::size_t depth = 1;
        std::size_t text_bytes = 0;
    };
    struct Anchored {
        nlohmann::json value;
        std::size_t nodes = 1;
        std::size_t depth = 0;
        std::size_t text_bytes = 0;
    };
    struct Size {
        std::size_t nodes = 1;
        std::size_t depth = 0;
        std::size_t text_bytes = 0;
    };

    void count(const Size& size, Position at);
    void open(nlohmann::json value, Position at, std::size_t anchor);
    void add(nlohmann::json value, const Size& size, Position at);
    void merge_into(Frame& frame);
    [[nodiscard]] std::string child_pointer() const;

    const DocumentLimits& limits_;
    std::vector<Frame> frames_;
    std::optional<nlohmann::json> root_;
    std::map<std::string, Place> places_;
    std::map<std::string, std::string> written_;
    std::map<std::string, InvisibleAt> invisible_;
    std::optional<InvisibleAt> invisible_next_;
    std::map<std::size_t, Anchored> anchored_;
    std::size_t nodes_ = 0;
    std::size_t aliases_ = 0;
    std::size_t text_bytes_ = 0;
};

// Position of the byte `offset` in `text`; columns count characters, not bytes.
Position position_at(std::string_view text, std::size_t offset);

// The message for a whole number with more than 64 bits.
std::string number_out_of_range(std::string_view written);

// Refuses a value with a control character other than TAB and line ends.
void check_controls(std::string_view value, Position at);
// Refuses a key that holds an invisible character. `source`: the text from the start of the key,
// whose position is `at`.
void check_key(std::string_view key, std::string_view source, Position at);
// The position of the character in `source`, which begins at `at`; `at` when the character is
// written as an escape.
Position locate_invisible(const text::Invisible& character, std::string_view source, Position at);
// Passes the first invisible character of the next value to the builder.
void report_invisible(Builder& builder, std::string_view value, std::string_view source,
                      Position at);

// Refuses text that is too long, is not UTF-8 or holds control characters.
void check_text(std::string_view text, const DocumentLimits& limits);

Error error_of(const DocumentProblem& problem, ErrorCode code, std::string_view what);

}  // namespace gpuctl::wire
