#include "k8s/json/json_text.hpp"

#include <cstdint>

namespace gpuctl::k8s {

namespace {

constexpr auto npos = std::string_view::npos;

std::size_t skip_space(std::string_view text, std::size_t at) {
    while (at < text.size() &&
           (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r')) {
        ++at;
    }
    return at;
}

// `at` is the opening quote; the position after the closing one.
std::size_t string_end(std::string_view text, std::size_t at) {
    for (++at; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '"') {
            return at + 1;
        }
    }
    return npos;
}

std::size_t container_end(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        switch (text[at]) {
            case '"':
                at = string_end(text, at);
                if (at == npos) return npos;
                continue;
            case '{':
            case '[':
                ++depth;
                break;
            case '}':
            case ']':
                if (--depth == 0) return at + 1;
                break;
            default:
                break;
        }
        ++at;
    }
    return npos;
}

// One member of an object: its raw key (without quotes) and raw value.
struct Member {
    std::string_view key;
    std::string_view value;
};

// Walks the members of one object, front to back.
class MemberWalk {
public:
    explicit MemberWalk(std::string_view object) : text_(object) {
        at_ = skip_space(text_, 0);
        ended_ = at_ >= text_.size() || text_[at_] != '{';
        if (!ended_) ++at_;
    }

    std::optional<Member> next() {
        if (ended_) return std::nullopt;
        at_ = skip_space(text_, at_);
        if (at_ < text_.size() && text_[at_] == ',') at_ = skip_space(text_, at_ + 1);
        if (at_ >= text_.size() || text_[at_] != '"') return end();
        const std::size_t key_end = string_end(text_, at_);
        if (key_end == npos) return end();
        const std::string_view key = text_.substr(at_ + 1, key_end - at_ - 2);
        const std::size_t colon = skip_space(text_, key_end);
        if (colon >= text_.size() || text_[colon] != ':') return end();
        const std::size_t from = skip_space(text_, colon + 1);
        const std::size_t to = json_value_end(text_, from);
        if (to == npos) return end();
        at_ = to;
        return Member{key, text_.substr(from, to - from)};
    }

private:
    std::optional<Member> end() {
        ended_ = true;
        return std::nullopt;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool ended_ = false;
};

void append_utf8(std::string& out, std::uint32_t code_point) {
    const auto byte = [&](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
    if (code_point < 0x80) {
        byte(code_point);
    } else if (code_point < 0x800) {
        byte(0xc0 | (code_point >> 6));
        byte(0x80 | (code_point & 0x3f));
    } else if (code_point < 0x10000) {
        byte(0xe0 | (code_point >> 12));
        byte(0x80 | ((code_point >> 6) & 0x3f));
        byte(0x80 | (code_point & 0x3f));
    } else {
        byte(0xf0 | (code_point >> 18));
        byte(0x80 | ((code_point >> 12) & 0x3f));
        byte(0x80 | ((code_point >> 6) & 0x3f));
        byte(0x80 | (code_point & 0x3f));
    }
}

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
    if (at + 4 > text.size()) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
        const char c = text[i];
        std::uint32_t digit = 0;
        if (c >= '0' && c <= '9') {
            digit = static_cast<std::uint32_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = static_cast<std::uint32_t>(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = static_cast<std::uint32_t>(c - 'A') + 10;
        } else {
            return std::nullopt;
        }
        value = value * 16 + digit;
    }
    return value;
}

// `at` is at the 'u'; moves it to the last digit used. Lone surrogates become U+FFFD.
bool decode_unicode_escape(std::string_view text, std::size_t& at, std::string& out) {
    auto high = hex4(text, at + 1);
    if (!high) return false;
    at += 4;
    if (*high >= 0xd800 && *high < 0xdc00 && text.substr(at + 1, 2) == "\\u") {
        const auto low = hex4(text, at + 3);
        if (low && *low >= 0xdc00 && *low < 0xe000) {
            at += 6;
            append_utf8(out, 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00));
            return true;
        }
    }
    append_utf8(out, *high >= 0xd800 && *high < 0xe000 ? 0xfffd : *high);
    return true;
}

char simple_escape(char c) {
    switch (c) {
        case '"':
        case '\\':
        case '/':
            return c;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return 0;
    }
}

}  // namespace

std::size_t json_value_end(std::string_view text, std::size_t from) {
    std::size_t at = skip_space(text, from);
    if (at >= text.size()) return npos;
    if (text[at] == '"') return string_end(text, at);
    if (text[at] == '{' || text[at] == '[') return container_end(text, at);
    const std::size_t begin = at;
    while (at < text.size() && text.substr(at, 1).find_first_of(",}] \n\t\r:\"{[") == npos) ++at;
    return at == begin ? npos : at;
}

std::optional<std::string_view> json_member(std::string_view object, std::string_view key) {
    MemberWalk walk{object};
    while (const auto member = walk.next()) {
        if (member->key == key) return member->value;
    }
    return std::nullopt;
}

std::optional<std::string> json_unquote(std::string_view raw) {
    if (raw.size() < 2 || raw.front() != '"' || raw.back() != '"') return std::nullopt;
    const std::string_view text = raw.substr(1, raw.size() - 2);
    if (text.find('\\') == npos) return std::string{text};
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') {
            out.push_back(text[at]);
            continue;
        }
        if (++at == text.size()) return std::nullopt;
        if (text[at] == 'u') {
            if (!decode_unicode_escape(text, at, out)) return std::nullopt;
        } else if (const char plain = simple_escape(text[at])) {
            out.push_back(plain);
        } else {
            return std::nullopt;
        }
    }
    return out;
}

std::optional<std::string> json_string_member(std::string_view object, std::string_view key) {
    const auto raw = json_member(object, key);
    if (!raw) return std::nullopt;
    return json_unquote(*raw);
}

void append_json_string(std::string& out, std::string_view text) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    out.push_back('"');
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out.push_back('\\');
            out.push_back(c);
        } else if (byte < 0x20) {
            out.append("\\u00");
            out.push_back(kHex[byte >> 4]);
            out.push_back(kHex[byte & 15]);
        } else {
            out.push_back(c);
        }
    }
    out.push_back('"');
}

std::optional<ObjectIdentity> identity_of(std::string_view object) {
    const auto metadata = json_member(object, "metadata");
    if (!metadata) return std::nullopt;
    ObjectIdentity identity;
    int left = 4;
    MemberWalk walk{*metadata};
    while (left > 0) {
        const auto member = walk.next();
        if (!member) break;
        std::string* target = member->key == "name"              ? &identity.name
                              : member->key == "namespace"       ? &identity.namespace_name
                              : member->key == "uid"             ? &identity.uid
                              : member->key == "resourceVersion" ? &identity.resource_version
                                                                 : nullptr;
        if (target == nullptr) continue;
        auto text = json_unquote(member->value);
        if (!text) return std::nullopt;
        *target = std::move(*text);
        --left;
    }
    return identity;
}

}  // namespace gpuctl::k8s
