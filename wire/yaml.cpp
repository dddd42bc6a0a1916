// YAML 1.2 (core schema) through yaml-cpp's events; no yaml-cpp node is ever built.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <streambuf>

#include "wire/job/builder.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::wire {
namespace {

using nlohmann::json;

// A stream over text that is not copied.
class TextBuffer : public std::streambuf {
public:
    explicit TextBuffer(std::string_view text) {
        char* begin = const_cast<char*>(text.data());
        setg(begin, begin, begin + text.size());
    }
};

constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

bool all_of(std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool looks_like_integer(std::string_view text) {
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
    return all_of(text, "0123456789");
}

bool looks_like_float(std::string_view text) {
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
    bool digits = false;
    std::size_t i = 0;
    while (i < text.size() && is_ascii_digit(text[i])) ++i, digits = true;
    if (i < text.size() && text[i] == '.') {
        ++i;
        while (i < text.size() && is_ascii_digit(text[i])) ++i, digits = true;
    }
    if (!digits) return false;
    if (i == text.size()) return true;
    if (text[i] != 'e' && text[i] != 'E') return false;
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    return all_of(text.substr(i), "0123456789");
}

template <typename Number>
bool read_all(std::string_view text, Number& number, int base) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    return error == std::errc{} && end == text.data() + text.size();
}

json integer(std::string_view text, int base, Position at) {
    std::string_view digits = text;
    if (base != 10) digits.remove_prefix(2);
    if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
    std::int64_t small = 0;
    if (read_all(digits, small, base)) return small;
    std::uint64_t large = 0;
    if (read_all(digits, large, base)) return large;
    throw DocumentProblem{at, number_out_of_range(text)};
}

json floating(std::string_view text, Position at) {
    const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
    const auto digits = std::count_if(mantissa.begin(), mantissa.end(), is_ascii_digit);
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || digits > 17) {
        throw DocumentProblem{at, "the number " + std::string{text.substr(0, 40)} +
                                      " cannot be stored exactly; put it in quotes"};
    }
    return number;
}

// The meaning of an unquoted scalar in the core schema. `yes`, `on` and `1_000` are text.
json resolve(const std::string& text, Position at) {
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
        return nullptr;
    }
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    if (looks_like_integer(text)) return integer(text, 10, at);
    if (text.size() > 2 && text.substr(0, 2) == "0o" && all_of(text.substr(2), "01234567")) {
        return integer(text, 8, at);
    }
    if (text.size() > 2 && text.substr(0, 2) == "0x" &&
        all_of(text.substr(2), "0123456789abcdefABCDEF")) {
        return integer(text, 16, at);
    }
    if (looks_like_float(text)) return floating(text, at);
    std::string bare = text;
    if (bare[0] == '+' || bare[0] == '-') bare.erase(0, 1);
    for (const std::string_view special : {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}) {
        if (bare == special) throw DocumentProblem{at, text + " is not a usable number"};
    }
    return text;
}

constexpr std::string_view kListNotClosed = "a [ is not closed: a comma or ] is missing";

class YamlHandler final : public YAML::EventHandler {
public:
    YamlHandler(std::string_view text, Builder& builder) : text_(text), builder_(builder) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        start_ = mark.pos;
        start_position_ = position(mark);
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const Position at = position(mark);
        if (builder_.expects_key()) throw DocumentProblem{at, "a key must be text, not empty"};
        builder_.value(nullptr, "", at, anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        builder_.alias(anchor, position(mark));
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        const Position at = position(mark);
        check_controls(value, at);
        const auto offset = static_cast<std::size_t>(std::max(mark.pos, 0));
        if (tag != "?") check_closed(offset, at);
        const std::string_view source = text_.substr(std::min(offset, text_.size()));
        if (builder_.expects_key()) {
            check_key(value, source, at);
            return key(value, tag, at);
        }
        report_invisible(builder_, value, source, at);
        json resolved = scalar(value, tag, at);
        builder_.value(std::move(resolved), value, at, anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        check_tag(tag, "tag:yaml.org,2002:seq", position(mark));
        if (builder_.expects_key()) check_bracket(mark);
        builder_.begin_list(position(mark), anchor);
    }
    void OnSequenceEnd() override { builder_.end(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        check_tag(tag, "tag:yaml.org,2002:map", position(mark));
        builder_.begin_map(position(mark), anchor);
    }
    void OnMapEnd() override { builder_.end(); }

    // Where the document began: offset in the text, and place.
    [[nodiscard]] int start() const { return start_; }
    [[nodiscard]] Position start_position() const { return start_position_; }

private:
    // yaml-cpp takes a [ that is never closed for the start of a key.
    void check_bracket(const YAML::Mark& mark) {
        const auto offset = static_cast<std::size_t>(std::max(mark.pos, 0));
        const bool is_open =
            offset < text_.size() && text_[offset] == '[' && text_.find(']', offset) == text_.npos;
        if (is_open) throw DocumentProblem{position(mark), std::string{kListNotClosed}};
    }

    // yaml-cpp 0.7 reports the end of the text as the end of a quoted scalar.
    void check_closed(std::size_t offset, Position at) const {
        while (offset < text_.size() && (text_[offset] == '&' || text_[offset] == '!')) {
            offset = std::min(text_.find_first_of(" \t\n", offset), text_.size());
            offset = std::min(text_.find_first_not_of(" \t\r\n", offset), text_.size());
        }
        if (offset >= text_.size()) return;
        const char quote = text_[offset];
        if (quote != '"' && quote != '\'') return;
        for (std::size_t i = offset + 1; i < text_.size(); ++i) {
            if (quote == '"' && text_[i] == '\\') {
                ++i;
            } else if (text_[i] == quote) {
                if (quote == '"' || i + 1 == text_.size() || text_[i + 1] != quote) return;
                ++i;
            }
        }
        throw DocumentProblem{at, "a quoted text is not closed"};
    }

    // Marks come in rising order, so that counting on from the last one keeps this linear.
    Position position(const YAML::Mark& mark) {
        if (mark.is_null()) return {};
        const auto offset = static_cast<std::size_t>(std::max(mark.pos, 0));
        if (offset < known_offset_ || offset > text_.size()) {
            return {mark.line + 1, mark.column + 1};
        }
        const Position step = position_at(text_.substr(known_offset_), offset - known_offset_);
        if (step.line > 1) {
            known_ = {known_.line + step.line - 1, step.column};
        } else {
            known_.column += step.column - 1;
        }
        known_offset_ = offset;
        return known_;
    }

    // A whole number has only one spelling: as a key it is that text ({2: 1.9} by size).
    static bool is_whole_number(const std::string& name) {
        const bool has_digits = !name.empty() && all_of(name, "0123456789");
        return has_digits && (name == "0" || name.front() != '0');
    }

    void key(const std::string& name, const std::string& tag, Position at) {
        const bool plain = tag == "?";
        if (plain && !scalar(name, tag, at).is_string() && !is_whole_number(name)) {
            throw DocumentProblem{at, "a key must be text; put " + name + " in quotes"};
        }
        builder_.key(name, at, plain && name == "<<");
    }

    json scalar(const std::string& value, const std::string& tag, Position at) {
        if (tag == "!" || tag == "tag:yaml.org,2002:str") return value;
        if (tag == "?" || tag.empty()) return resolve(value, at);
        json resolved = resolve(value, at);
        const bool agrees = (tag == "tag:yaml.org,2002:int" && resolved.is_number_integer()) ||
                            (tag == "tag:yaml.org,2002:float" && resolved.is_number()) ||
                            (tag == "tag:yaml.org,2002:bool" && resolved.is_boolean()) ||
                            (tag == "tag:yaml.org,2002:null" && resolved.is_null());
        if (!agrees) throw DocumentProblem{at, "the tag " + tag + " is not supported here"};
        return resolved;
    }

    void check_tag(const std::string& tag, std::string_view own, Position at) {
        if (tag.empty() || tag == "?" || tag == "!" || tag == own) return;
        throw DocumentProblem{at, "the tag " + tag + " is not supported here"};
    }

    std::string_view text_;
    Builder& builder_;
    int start_ = -1;
    Position start_position_;
    std::size_t known_offset_ = 0;
    Position known_{1, 1};
};

std::string_view line_of(std::string_view text, int number) {
    for (; number > 1; --number) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

// The TAB in a line's indentation, if there is one.
std::optional<Position> indenting_tab(std::string_view text, int number) {
    if (number < 1) return std::nullopt;
    const std::string_view line = line_of(text, number);
    const std::size_t content = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t tab = line.substr(0, content).find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    return Position{number, static_cast<int>(tab) + 1};
}

std::optional<DocumentProblem> stray_character(std::string_view text, int number) {
    constexpr std::string_view never_starts = "`@";
    const std::string_view line = line_of(text, number);
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#' && i > 0 && line[i - 1] == ' ') break;
        if (never_starts.find(line[i]) == std::string_view::npos) continue;
        const char before = i == 0 ? ' ' : line[i - 1];
        if (std::string_view{" \t]}\"',:"}.find(before) == std::string_view::npos) continue;
        const std::string name = line[i] == '`' ? "backtick (`)" : std::string{line[i]};
        const Position at{number, position_at(line, i).column};
        return DocumentProblem{at, "a stray " + name +
                                       ": no value can start with it; remove it or put the text "
                                       "in quotes"};
    }
    return std::nullopt;
}

// A space that YAML reads as a letter, or a character between a key and its colon.
std::optional<DocumentProblem> invisible_character(std::string_view text, int number) {
    const std::string_view line = line_of(text, number);
    const std::string_view code = line.substr(0, line.find(" #"));
    const auto found = text::first_invisible(code, text::Where::script);
    if (!found) return std::nullopt;
    return DocumentProblem{
        {number, position_at(line, found->offset).column},
        to_string(*found) +
            " is here, which YAML reads as a letter; remove it or write a plain space"};
}

// yaml-cpp describes the state of its scanner; users need to know what to change.
std::string in_plain_words(const std::string& message) {
    const std::pair<std::string_view, std::string_view> sentences[] = {
        {"end of sequence flow not found", kListNotClosed},
        {"end of map flow not found", "a { is not closed: a comma or } is missing"},
        {"end of map not found", "this line does not fit: check its indentation and the ':'"},
        {"end of sequence not found",
         "this line does not fit into the list: check its indentation"},
        {"illegal map value",
         "a ':' is not allowed here: put the text before it in quotes, or "
         "check the line before"},
        {"illegal map key", "a key is not allowed here"},
        {"illegal block entry", "a list entry (-) is not allowed here"},
        {"illegal flow end", "a closing bracket without an opening one"},
        {"illegal EOF in scalar", "a quoted text is not closed"},
        {"unknown token", "this character cannot start a value"},
        {"the referenced anchor is not defined",
         "this alias refers to an anchor that does not exist"},
    };
    for (const auto& [theirs, ours] : sentences) {
        if (message.find(theirs) != std::string::npos) return std::string{ours};
    }
    return message;
}

DocumentProblem explained(std::string_view text, const YAML::Exception& exception) {
    const int line = exception.mark.is_null() ? 0 : exception.mark.line + 1;
    for (int near = line; near >= std::max(line - 2, 1); --near) {
        if (const auto tab = indenting_tab(text, near)) {
            return {*tab, "a TAB cannot indent YAML; use spaces"};
        }
    }
    for (int near = line; near >= std::max(line - 2, 1); --near) {
        if (auto invisible = invisible_character(text, near)) return *invisible;
    }
    for (int near = line; near >= std::max(line - 2, 1); --near) {
        if (auto stray = stray_character(text, near)) return *stray;
    }
    const Position at{line, exception.mark.is_null() ? 0 : exception.mark.column + 1};
    return {at, in_plain_words(exception.msg)};
}

void read_stream(std::string_view text, const DocumentLimits& limits,
                 std::vector<Document>& documents) {
    TextBuffer buffer{text};
    std::istream stream{&buffer};
    YAML::Parser parser{stream};
    int last_start = -1;
    for (;;) {
        Builder builder{limits};
        YamlHandler handler{text, builder};
        if (!parser.HandleNextDocument(handler)) return;
        // A character that begins no document (a comma, a closing bracket) makes yaml-cpp 0.7
        // report empty documents at the same place for ever (jbeder/yaml-cpp#1040).
        if (handler.start() == last_start) {
            throw DocumentProblem{handler.start_position(), "this character cannot start a value"};
        }
        last_start = handler.start();
        Document document = builder.finish();
        if (document.root.is_null()) continue;
        if (documents.size() == limits.documents_max) {
            throw DocumentProblem{
                {}, "it contains more than " + std::to_string(limits.documents_max) + " documents"};
        }
        documents.push_back(std::move(document));
    }
}

}  // namespace

std::string without_byte_order_marks(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    std::string clean;
    clean.reserve(text.size());
    bool at_start = true;  // nothing but comments and empty lines since the document began
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end);
        std::string_view bare = line;
        while (bare.starts_with(mark)) bare.remove_prefix(mark.size());
        const bool is_marker = (bare.starts_with("---") || bare.starts_with("...")) &&
                               (bare.size() == 3 || bare.find_first_of(" \t\r\n") == 3);
        if (at_start || is_marker) line = bare;
        clean += line;
        const std::size_t content = bare.find_first_not_of(" \t\r\n", is_marker ? 3 : 0);
        const bool is_content = content != bare.npos && bare[content] != '#' && bare[0] != '%';
        at_start = (at_start || is_marker) && !is_content;
    }
    return clean;
}

Result<std::vector<Document>> parse_yaml(std::string_view text, const DocumentLimits& limits) {
    std::string clean;
    if (text.find("\xef\xbb\xbf") != text.npos) {
        clean = without_byte_order_marks(text);
        text = clean;
    }
    std::vector<Document> documents;
    try {
        check_text(text, limits);
        read_stream(text, limits, documents);
    } catch (const DocumentProblem& problem) {
        return error_of(problem, ErrorCode::InvalidYaml, "YAML");
    } catch (const YAML::Exception& exception) {
        return error_of(explained(text, exception), ErrorCode::InvalidYaml, "YAML");
    }
    return documents;
}

}  // namespace gpuctl::wire
