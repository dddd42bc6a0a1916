#pragma once
// YAML and JSON text from outside -> nlohmann::json plus a map from JSON pointer to line and
// column. Bounded before anything is built: size, depth, number of nodes, aliases; duplicate keys,
// anchors that multiply (a few lines growing to gigabytes), tags, and numbers that would lose
// digits are errors with their place. So are keys that hold a character which cannot be seen
// (text/characters.hpp); in values it is for the field to say (fields.hpp). Byte order marks
// count for nothing where a document may begin.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::wire {

struct DocumentLimits {
    std::size_t bytes_max = 1u << 20;
    std::size_t depth_max = 64;
    std::size_t nodes_max = 100'000;
    std::size_t aliases_max = 100;
    std::size_t documents_max = 1'000;
};

// The first invisible character of a text, and its position.
struct InvisibleAt {
    char32_t code = 0;
    int line = 0;
    int column = 0;
};

struct Document {
    nlohmann::json root;
    std::map<std::string, Place> places;         // by JSON pointer; a member's is its key's
    std::map<std::string, std::string> written;  // numbers, booleans and null as they were written
    std::map<std::string, InvisibleAt>
        invisible;  // the first invisible character of values that hold one
    // The nearest known place: that of the pointer, else of the value that encloses it.
    [[nodiscard]] Place place_of(const std::string& pointer) const;
    // The text written at `pointer`, for text fields that hold `1.10` or `true` without quotes.
    [[nodiscard]] std::string text_of(const std::string& pointer,
                                      const nlohmann::json& value) const;
};

// Appends a reference token to a JSON pointer, escaped as RFC 6901 says.
std::string pointer_to(const std::string& parent, std::string_view key);
std::string pointer_to(const std::string& parent, std::size_t index);

// `text` without the byte order marks at the start of its documents: concatenated files have one in
// each. Any other mark stays, as part of a key or a value.
std::string without_byte_order_marks(std::string_view text);

// A YAML stream: one Document per `---` part, empty parts left out.
Result<std::vector<Document>> parse_yaml(std::string_view text, const DocumentLimits& limits = {});
Result<Document> parse_json(std::string_view text, const DocumentLimits& limits = {});

// The name among `known` closest to `word` (edit distance <= 2, also over kebab, snake and camel
// spelling), or "".
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

}  // namespace gpuctl::wire
