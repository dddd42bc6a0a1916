// Text of layouts: one letter for each kind, followed by its parts.
//
//   b u i s          boolean, unsigned, signed, string
//   e(a,b,)          enumeration
//   [T] {KV} #3:T    list, map, array of three
//   ?T &AB |2:AB     optional, pair, variant of two
//   <a:T;b:T;>       structure

#include "scheduler/base/archive_layout.hpp"

#include <charconv>

namespace gpuctl {
namespace {

using Kind = Layout::Kind;

constexpr int kDepthMax = 64;
constexpr std::uint64_t kCountMax = 4'096;  // of members, alternatives, enumerators

void append_text(const Layout& layout, std::string& out) {
    const auto append_parts = [&] {
        for (const Layout& part : layout.parts) append_text(part, out);
    };
    switch (layout.kind) {
        case Kind::boolean:
            out += 'b';
            return;
        case Kind::unsigned_integer:
            out += 'u';
            return;
        case Kind::signed_integer:
            out += 'i';
            return;
        case Kind::string:
            out += 's';
            return;
        case Kind::enumeration:
            out += "e(";
            for (const std::string& name : layout.names) out += name + ',';
            out += ')';
            return;
        case Kind::list:
            out += '[';
            append_parts();
            out += ']';
            return;
        case Kind::map:
            out += '{';
            append_parts();
            out += '}';
            return;
        case Kind::array:
            out += '#' + std::to_string(layout.length) + ':';
            return append_parts();
        case Kind::optional:
            out += '?';
            return append_parts();
        case Kind::pair:
            out += '&';
            return append_parts();
        case Kind::variant:
            out += '|' + std::to_string(layout.parts.size()) + ':';
            return append_parts();
        case Kind::structure:
            out += '<';
            for (std::size_t i = 0; i < layout.parts.size(); ++i) {
                out += layout.names[i] + ':';
                append_text(layout.parts[i], out);
                out += ';';
            }
            out += '>';
            return;
    }
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::optional<Layout> whole() {
        Layout layout = one(0);
        if (!ok_ || !text_.empty()) return std::nullopt;
        return layout;
    }

private:
    Layout one(int depth) {
        Layout layout;
        if (depth > kDepthMax || text_.empty()) return fail();
        const char letter = text_.front();
        text_.remove_prefix(1);
        const auto parts = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count && ok_; ++i) layout.parts.push_back(one(depth + 1));
        };
        switch (letter) {
            case 'b':
                layout.kind = Kind::boolean;
                break;
            case 'u':
                layout.kind = Kind::unsigned_integer;
                break;
            case 'i':
                layout.kind = Kind::signed_integer;
                break;
            case 's':
                layout.kind = Kind::string;
                break;
            case 'e':
                layout.kind = Kind::enumeration;
                expect('(');
                while (ok_ && !accept_character(')')) layout.names.push_back(name_before(','));
                break;
            case '[':
                layout.kind = Kind::list;
                parts(1);
                expect(']');
                break;
            case '{':
                layout.kind = Kind::map;
                parts(2);
                expect('}');
                break;
            case '#':
                layout.kind = Kind::array;
                layout.length = number();
                parts(1);
                break;
            case '?':
                layout.kind = Kind::optional;
                parts(1);
                break;
            case '&':
                layout.kind = Kind::pair;
                parts(2);
                break;
            case '|':
                layout.kind = Kind::variant;
                parts(number());
                break;
            case '<':
                layout.kind = Kind::structure;
                while (ok_ && !accept_character('>')) {
                    layout.names.push_back(name_before(':'));
                    parts(1);
                    expect(';');
                }
                break;
            default:
                return fail();
        }
        return layout;
    }

    Layout fail() {
        ok_ = false;
        return {};
    }
    bool accept_character(char wanted) {
        if (text_.empty() || text_.front() != wanted) return false;
        text_.remove_prefix(1);
        return true;
    }
    void expect(char wanted) {
        if (!accept_character(wanted)) ok_ = false;
    }
    std::string name_before(char end) {
        const std::size_t length = text_.find(end);
        if (length == std::string_view::npos) {
            ok_ = false;
            return {};
        }
        std::string name{text_.substr(0, length)};
        text_.remove_prefix(length + 1);
        return name;
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        const auto [end, failure] =
            std::from_chars(text_.data(), text_.data() + text_.size(), value);
        if (failure != std::errc{} || value == 0 || value > kCountMax) {
            ok_ = false;
            return 0;
        }
        text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
        expect(':');
        return value;
    }

    std::string_view text_;
    bool ok_ = true;
};

}  // namespace

std::string to_text(const Layout& layout) {
    std::string out;
    append_text(layout, out);
    return out;
}

std::optional<Layout> parse_layout(std::string_view text) { return Parser{text}.whole(); }

}  // namespace gpuctl
