#pragma once
// Invisible characters, and those that look like a plain space: the one table of them and the one
// function that finds them. A name with a zero width space in it looks like another name, so a
// message about it names the character by its code point.
//
// Refused in: names, quantities, choices, numbers, times, addresses, tokens, keys.
// Accepted in: text that the program only passes on (commands, arguments, values of
// environment variables: with a warning; descriptions: without one).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpuctl::text {

enum class Where : std::uint8_t {
    name,    // every character of the table
    script,  // commands and values: all but line ends, TAB, and what joins letters and emoji
};

struct Invisible {
    std::size_t offset = 0;     // in bytes
    std::string_view bytes_of;  // the character itself, in the text it was found in
    char32_t code = 0;
    std::string_view name;  // ZERO WIDTH SPACE
};

// The first character of `text` that is in the table.
std::optional<Invisible> first_invisible(std::string_view text, Where where = Where::name);

// "U+200B ZERO WIDTH SPACE"
std::string to_string(const Invisible& character);

// A clause for a message about a text that holds one: "contains U+200B ZERO WIDTH SPACE (character
// 4); remove it"; "" if it holds none. Never quotes the text.
std::string problem_with_invisible(std::string_view text);

struct Decoded {
    char32_t code = 0;
    std::size_t bytes = 0;  // 0: not UTF-8 (overlong, a surrogate, cut off)
};
// The character that begins at `at`, which is less than text.size().
Decoded decode_utf8(std::string_view text, std::size_t at);

// The number of characters that begin before the byte `offset`.
std::size_t characters_before(std::string_view text, std::size_t offset);

}  // namespace gpuctl::text
