// JSON through nlohmann's SAX interface, with the same bounds and positions as YAML.

#include <algorithm>
#include <iterator>

#include "wire/job/builder.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::wire {
namespace {

using nlohmann::json;

// Reports to the handler how far the parser has read; nlohmann's SAX events carry no position.
class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        *reached_ = at_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
        return a.at_ == b.at_;
    }

private:
    const char* at_;
    const char** reached_;
};

class JsonHandler {
public:
    using number_integer_t = json::number_integer_t;
    using number_unsigned_t = json::number_unsigned_t;
    using number_float_t = json::number_float_t;
    using string_t = json::string_t;
    using binary_t = json::binary_t;

    JsonHandler(std::string_view text, const char* const* reached, Builder& builder)
        : text_(text), reached_(reached), builder_(builder) {}

    bool null() { return value(nullptr, "null", literal_start()); }
    bool boolean(bool b) { return value(b, b ? "true" : "false", literal_start()); }
    bool number_integer(number_integer_t n) { return number(n); }
    bool number_unsigned(number_unsigned_t n) { return number(n); }
    bool number_float(number_float_t n, const string_t& written) {
        const std::size_t digits_max = 17;
        const auto digits = static_cast<std::size_t>(std::count_if(
            written.begin(), written.end(), [](char c) { return c >= '0' && c <= '9'; }));
        if (written.find_first_of(".eE") == string_t::npos) {
            throw DocumentProblem{position(literal_start()), number_out_of_range(written)};
        }
        if (digits > digits_max + 4) {
            throw DocumentProblem{
                position(literal_start()),
                "the number " + written.substr(0, 40) + " would lose digits; put it in quotes"};
        }
        return number(n);
    }
    bool string(string_t& text) {
        const std::size_t start = string_start();
        check_controls(text, position(start));
        report_invisible(builder_, text, source(start), position(start));
        return value(std::move(text), "", start);
    }
    bool binary(binary_t&) { return false; }
    bool start_object(std::size_t) {
        builder_.begin_map(position(offset() - 1));
        return true;
    }
    bool key(string_t& name) {
        const std::size_t start = string_start();
        check_key(name, source(start), position(start));
        builder_.key(std::move(name), position(start));
        return true;
    }
    bool end_object() { return end(); }
    bool start_array(std::size_t) {
        builder_.begin_list(position(offset() - 1));
        return true;
    }
    bool end_array() { return end(); }

    bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& e) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while
        // parsing value - unexpected end of input; ..." -> the part behind the place.
        std::string message = e.what();
        if (const auto at = message.find("syntax error"); at != std::string::npos) {
            message = message.substr(at);
        } else if (const auto end = message.find("] "); end != std::string::npos) {
            message = message.substr(end + 2);
        }
        std::replace_if(
            message.begin(), message.end(),
            [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
        const std::size_t at = byte == 0 ? 0 : byte - 1;
        const std::string_view behind = text_.substr(std::min(at, text_.size()), 2);
        if (behind == "//" || behind == "/*") {
            throw DocumentProblem{position(at), "JSON has no comments"};
        }
        throw DocumentProblem{position(at), message};
    }

private:
    std::size_t offset() const { return static_cast<std::size_t>(*reached_ - text_.data()); }

    // The parser is just behind the closing quote.
    std::size_t string_start() const {
        std::size_t at = offset() - 1;
        while (at > 0) {
            --at;
            if (text_[at] != '"') continue;
            std::size_t backslashes = 0;
            while (backslashes < at && text_[at - 1 - backslashes] == '\\') ++backslashes;
            if (backslashes % 2 == 0) break;
        }
        return at;
    }

    // Numbers, true, false, null; behind a number the parser has read one character more.
    std::size_t literal_start() const {
        const auto part = [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '.' ||
                   c == '+' || c == '-';
        };
        std::size_t at = std::min(offset(), text_.size());
        while (at > 0 && !part(text_[at - 1])) --at;
        while (at > 0 && part(text_[at - 1])) --at;
        return at;
    }

    Position position(std::size_t at) {
        if (at < known_offset_) return position_at(text_, at);
        const Position step = position_at(text_.substr(known_offset_), at - known_offset_);
        known_ = step.line > 1 ? Position{known_.line + step.line - 1, step.column}
                               : Position{known_.line, known_.column + step.column - 1};
        known_offset_ = at;
        return known_;
    }

    // The string that begins at `start`, with its quotes.
    [[nodiscard]] std::string_view source(std::size_t start) const {
        return text_.substr(start, std::max(offset(), start) - start);
    }

    template <typename Number>
    bool number(Number n) {
        const std::size_t start = literal_start();
        std::size_t end = start;
        while (end < text_.size() &&
               std::string_view{"0123456789+-.eE"}.find(text_[end]) != std::string_view::npos) {
            ++end;
        }
        return value(n, std::string{text_.substr(start, end - start)}, start);
    }
    bool value(json v, std::string written, std::size_t start) {
        builder_.value(std::move(v), std::move(written), position(start));
        return true;
    }
    bool end() {
        builder_.end();
        return true;
    }

    std::string_view text_;
    const char* const* reached_;
    Builder& builder_;
    std::size_t known_offset_ = 0;
    Position known_{1, 1};
};

}  // namespace

Result<Document> parse_json(std::string_view text, const DocumentLimits& limits) {
    if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
    try {
        check_text(text, limits);
        Builder builder{limits};
        const char* reached = text.data();
        JsonHandler handler{text, &reached, builder};
        const char* end = text.data() + text.size();
        json::sax_parse(CountingIterator{text.data(), &reached}, CountingIterator{end, &reached},
                        &handler);
        return builder.finish();
    } catch (const DocumentProblem& problem) {
        return error_of(problem, ErrorCode::InvalidJson, "JSON");
    }
}

}  // namespace gpuctl::wire
