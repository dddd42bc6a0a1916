#include "text/characters.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

namespace gpuctl::text {
namespace {

struct Range {
    char32_t first;
    char32_t last;
    std::string_view name;
    bool is_plain_in_scripts = false;
};

// In rising order. Names as in the Unicode character database; for controls, which have no name
// there, their aliases. The plain space (U+0020) is visible enough and not listed.
constexpr Range kTable[] = {
    {0x0000, 0x0000, "NULL"},
    {0x0001, 0x0001, "START OF HEADING"},
    {0x0002, 0x0002, "START OF TEXT"},
    {0x0003, 0x0003, "END OF TEXT"},
    {0x0004, 0x0004, "END OF TRANSMISSION"},
    {0x0005, 0x0005, "ENQUIRY"},
    {0x0006, 0x0006, "ACKNOWLEDGE"},
    {0x0007, 0x0007, "BELL"},
    {0x0008, 0x0008, "BACKSPACE"},
    {0x0009, 0x0009, "CHARACTER TABULATION", true},
    {0x000a, 0x000a, "LINE FEED", true},
    {0x000b, 0x000b, "LINE TABULATION"},
    {0x000c, 0x000c, "FORM FEED"},
    {0x000d, 0x000d, "CARRIAGE RETURN", true},
    {0x000e, 0x000e, "SHIFT OUT"},
    {0x000f, 0x000f, "SHIFT IN"},
    {0x0010, 0x0010, "DATA LINK ESCAPE"},
    {0x0011, 0x0011, "DEVICE CONTROL ONE"},
    {0x0012, 0x0012, "DEVICE CONTROL TWO"},
    {0x0013, 0x0013, "DEVICE CONTROL THREE"},
    {0x0014, 0x0014, "DEVICE CONTROL FOUR"},
    {0x0015, 0x0015, "NEGATIVE ACKNOWLEDGE"},
    {0x0016, 0x0016, "SYNCHRONOUS IDLE"},
    {0x0017, 0x0017, "END OF TRANSMISSION BLOCK"},
    {0x0018, 0x0018, "CANCEL"},
    {0x0019, 0x0019, "END OF MEDIUM"},
    {0x001a, 0x001a, "SUBSTITUTE"},
    {0x001b, 0x001b, "ESCAPE"},
    {0x001c, 0x001c, "INFORMATION SEPARATOR FOUR"},
    {0x001d, 0x001d, "INFORMATION SEPARATOR THREE"},
    {0x001e, 0x001e, "INFORMATION SEPARATOR TWO"},
    {0x001f, 0x001f, "INFORMATION SEPARATOR ONE"},
    {0x007f, 0x007f, "DELETE"},
    {0x0080, 0x0084, "CONTROL CHARACTER"},
    {0x0085, 0x0085, "NEXT LINE"},
    {0x0086, 0x009f, "CONTROL CHARACTER"},
    {0x00a0, 0x00a0, "NO-BREAK SPACE"},
    {0x00ad, 0x00ad, "SOFT HYPHEN"},
    {0x034f, 0x034f, "COMBINING GRAPHEME JOINER"},
    {0x061c, 0x061c, "ARABIC LETTER MARK"},
    {0x115f, 0x115f, "HANGUL CHOSEONG FILLER"},
    {0x1160, 0x1160, "HANGUL JUNGSEONG FILLER"},
    {0x1680, 0x1680, "OGHAM SPACE MARK"},
    {0x17b4, 0x17b4, "KHMER VOWEL INHERENT AQ"},
    {0x17b5, 0x17b5, "KHMER VOWEL INHERENT AA"},
    {0x180b, 0x180d, "MONGOLIAN FREE VARIATION SELECTOR"},
    {0x180e, 0x180e, "MONGOLIAN VOWEL SEPARATOR"},
    {0x180f, 0x180f, "MONGOLIAN FREE VARIATION SELECTOR"},
    {0x2000, 0x2000, "EN QUAD"},
    {0x2001, 0x2001, "EM QUAD"},
    {0x2002, 0x2002, "EN SPACE"},
    {0x2003, 0x2003, "EM SPACE"},
    {0x2004, 0x2004, "THREE-PER-EM SPACE"},
    {0x2005, 0x2005, "FOUR-PER-EM SPACE"},
    {0x2006, 0x2006, "SIX-PER-EM SPACE"},
    {0x2007, 0x2007, "FIGURE SPACE"},
    {0x2008, 0x2008, "PUNCTUATION SPACE"},
    {0x2009, 0x2009, "THIN SPACE"},
    {0x200a, 0x200a, "HAIR SPACE"},
    {0x200b, 0x200b, "ZERO WIDTH SPACE"},
    {0x200c, 0x200c, "ZERO WIDTH NON-JOINER", true},
    {0x200d, 0x200d, "ZERO WIDTH JOINER", true},
    {0x200e, 0x200e, "LEFT-TO-RIGHT MARK"},
    {0x200f, 0x200f, "RIGHT-TO-LEFT MARK"},
    {0x2028, 0x2028, "LINE SEPARATOR"},
    {0x2029, 0x2029, "PARAGRAPH SEPARATOR"},
    {0x202a, 0x202a, "LEFT-TO-RIGHT EMBEDDING"},
    {0x202b, 0x202b, "RIGHT-TO-LEFT EMBEDDING"},
    {0x202c, 0x202c, "POP DIRECTIONAL FORMATTING"},
    {0x202d, 0x202d, "LEFT-TO-RIGHT OVERRIDE"},
    {0x202e, 0x202e, "RIGHT-TO-LEFT OVERRIDE"},
    {0x202f, 0x202f, "NARROW NO-BREAK SPACE"},
    {0x205f, 0x205f, "MEDIUM MATHEMATICAL SPACE"},
    {0x2060, 0x2060, "WORD JOINER"},
    {0x2061, 0x2061, "FUNCTION APPLICATION"},
    {0x2062, 0x2062, "INVISIBLE TIMES"},
    {0x2063, 0x2063, "INVISIBLE SEPARATOR"},
    {0x2064, 0x2064, "INVISIBLE PLUS"},
    {0x2066, 0x2066, "LEFT-TO-RIGHT ISOLATE"},
    {0x2067, 0x2067, "RIGHT-TO-LEFT ISOLATE"},
    {0x2068, 0x2068, "FIRST STRONG ISOLATE"},
    {0x2069, 0x2069, "POP DIRECTIONAL ISOLATE"},
    {0x206a, 0x206f, "DEPRECATED FORMAT CHARACTER"},
    {0x2800, 0x2800, "BRAILLE PATTERN BLANK"},
    {0x3000, 0x3000, "IDEOGRAPHIC SPACE"},
    {0x3164, 0x3164, "HANGUL FILLER"},
    {0xfe00, 0xfe0f, "VARIATION SELECTOR", true},
    {0xfeff, 0xfeff, "ZERO WIDTH NO-BREAK SPACE (byte order mark)"},
    {0xffa0, 0xffa0, "HALFWIDTH HANGUL FILLER"},
    {0xfff9, 0xfff9, "INTERLINEAR ANNOTATION ANCHOR"},
    {0xfffa, 0xfffa, "INTERLINEAR ANNOTATION SEPARATOR"},
    {0xfffb, 0xfffb, "INTERLINEAR ANNOTATION TERMINATOR"},
    {0x1d173, 0x1d17a, "MUSICAL SYMBOL FORMAT CHARACTER"},
    {0xe0000, 0xe007f, "TAG CHARACTER"},
    {0xe0100, 0xe01ef, "VARIATION SELECTOR", true},
};

const Range* find(char32_t code) {
    const auto* found =
        std::lower_bound(std::begin(kTable), std::end(kTable), code,
                         [](const Range& range, char32_t wanted) { return range.last < wanted; });
    return found != std::end(kTable) && found->first <= code ? found : nullptr;
}

}  // namespace

Decoded decode_utf8(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) -> unsigned {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return {first, 1};
    struct Form {
        unsigned low, high;   // of the first byte
        unsigned second_low;  // overlong forms and surrogates begin or end elsewhere
        unsigned second_high;
        std::size_t bytes;
    };
    constexpr std::array<Form, 8> forms{{{0xc2, 0xdf, 0x80, 0xbf, 2},
                                         {0xe0, 0xe0, 0xa0, 0xbf, 3},
                                         {0xe1, 0xec, 0x80, 0xbf, 3},
                                         {0xed, 0xed, 0x80, 0x9f, 3},
                                         {0xee, 0xef, 0x80, 0xbf, 3},
                                         {0xf0, 0xf0, 0x90, 0xbf, 4},
                                         {0xf1, 0xf3, 0x80, 0xbf, 4},
                                         {0xf4, 0xf4, 0x80, 0x8f, 4}}};
    for (const Form& form : forms) {
        if (first < form.low || first > form.high) continue;
        if (byte(1) < form.second_low || byte(1) > form.second_high) return {};
        char32_t code = first & (0x7fu >> form.bytes);
        for (std::size_t i = 1; i < form.bytes; ++i) {
            if ((byte(i) & 0xc0) != 0x80) return {};
            code = code << 6 | (byte(i) & 0x3f);
        }
        return {code, form.bytes};
    }
    return {};
}

std::optional<Invisible> first_invisible(std::string_view text, Where where) {
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte > 0x20 && byte < 0x7f) {  // the common case
            ++at;
            continue;
        }
        const Decoded character = decode_utf8(text, at);
        const Range* found = character.bytes > 0 ? find(character.code) : nullptr;
        if (found != nullptr && !(where == Where::script && found->is_plain_in_scripts)) {
            return Invisible{at, text.substr(at, character.bytes), character.code, found->name};
        }
        at += std::max<std::size_t>(character.bytes, 1);
    }
    return std::nullopt;
}

std::string to_string(const Invisible& character) {
    std::array<char, 16> code{};
    std::snprintf(code.data(), code.size(), "U+%04X ", static_cast<unsigned>(character.code));
    return code.data() + std::string{character.name};
}

std::size_t characters_before(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    return static_cast<std::size_t>(std::count_if(before.begin(), before.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

std::string problem_with_invisible(std::string_view text) {
    const std::optional<Invisible> found = first_invisible(text);
    if (!found) return "";
    return "contains " + to_string(*found) + " (character " +
           std::to_string(characters_before(text, found->offset) + 1) + "); remove it";
}

}  // namespace gpuctl::text
