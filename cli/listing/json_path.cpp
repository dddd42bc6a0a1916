#include "cli/listing/json_path.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace gpuctl::cli {

// Reads one path from its text.
class JsonPathReader {
public:
    explicit JsonPathReader(std::string_view text) : whole_(text), rest_(text) {}

    Result<JsonPath> read() {
        JsonPath path;
        if (Result<void> steps = read_steps(path.steps_, ""); !steps) return steps.error();
        return path;
    }

private:
    using Steps = std::vector<JsonPath::Step>;
    struct Value {
        nlohmann::json json;
    };

    [[nodiscard]] Error wrong(const std::string& what) const {
        return make_error(ErrorCode::BadRequest,
                          "the path \"" + std::string{whole_} + "\" cannot be read: " + what +
                              " at character " + std::to_string(whole_.size() - rest_.size() + 1) +
                              "; write .items[*].name, .labels.rack or [?(@.status==\"Running\")]");
    }

    [[nodiscard]] bool at(std::string_view text) const { return rest_.starts_with(text); }
    bool skip(std::string_view text) {
        if (!at(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    void skip_spaces() {
        while (skip(" ")) continue;
    }

    // Up to one of the characters in `ends`, or to the end of the text.
    Result<void> read_steps(Steps& steps, std::string_view ends) {
        if (!skip("$")) skip("@");
        while (!rest_.empty() && ends.find(rest_.front()) == std::string_view::npos) {
            if (skip("[")) {
                if (Result<void> step = read_brackets(steps); !step) return step;
                continue;
            }
            const bool has_dot = skip(".");
            if (skip("*")) {
                steps.push_back({JsonPath::StepKind::every, "", 0, {}, "", {}});
                continue;
            }
            const std::string name = read_name(ends);
            if (!name.empty()) {
                steps.push_back({JsonPath::StepKind::member, name, 0, {}, "", {}});
            } else if (!has_dot || !rest_.empty()) {
                if (!at("[")) return wrong("a name is missing");
            }
        }
        return {};
    }

    std::string read_name(std::string_view ends) {
        std::string name;
        while (!rest_.empty() && !at(".") && !at("[") && !at("]") &&
               ends.find(rest_.front()) == std::string_view::npos) {
            const bool is_escape = at("\\") && rest_.size() > 1;
            if (is_escape) rest_.remove_prefix(1);
            name += rest_.front();
            rest_.remove_prefix(1);
        }
        return name;
    }

    Result<void> read_brackets(Steps& steps) {
        JsonPath::Step step;
        if (skip("*")) {
            step.kind = JsonPath::StepKind::every;
        } else if (skip("?(")) {
            step.kind = JsonPath::StepKind::filter;
            if (Result<void> filter = read_filter(step); !filter) return filter;
        } else if (at("'") || at("\"")) {
            Result<Value> name = read_value();
            if (!name) return name.error();
            step.name = plain_text(name->json);
        } else {
            step.kind = JsonPath::StepKind::index;
            const char* last = rest_.data() + rest_.size();
            const auto [end, problem] = std::from_chars(rest_.data(), last, step.index);
            if (problem != std::errc{}) return wrong("a number, * or a quoted name is missing");
            rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        }
        if (!skip("]")) return wrong("] is missing");
        steps.push_back(std::move(step));
        return {};
    }

    Result<void> read_filter(JsonPath::Step& step) {
        skip_spaces();
        if (Result<void> steps = read_steps(step.inside, " =!<>)"); !steps) return steps;
        skip_spaces();
        constexpr std::array<std::string_view, 6> comparisons{"==", "!=", "<=", ">=", "<", ">"};
        for (const std::string_view comparison : comparisons) {
            if (!skip(comparison)) continue;
            step.comparison = comparison;
            break;
        }
        if (!step.comparison.empty()) {
            skip_spaces();
            Result<Value> value = read_value();
            if (!value) return value.error();
            step.value = std::move(value->json);
        }
        skip_spaces();
        if (!skip(")")) return wrong(") is missing");
        return {};
    }

    // 'text', "text", or a number, true, false, null.
    Result<Value> read_value() {
        for (const std::string_view quote : {"'", "\""}) {
            if (!skip(quote)) continue;
            const std::size_t end = rest_.find(quote);
            if (end == std::string_view::npos) return wrong("the closing quote is missing");
            Value text{std::string{rest_.substr(0, end)}};
            rest_.remove_prefix(end + 1);
            return text;
        }
        const std::size_t end = std::min(rest_.find_first_of(" )]"), rest_.size());
        Value value{nlohmann::json::parse(rest_.substr(0, end), nullptr, false)};
        if (value.json.is_discarded()) return wrong("a quoted text or a number is missing");
        rest_.remove_prefix(end);
        return value;
    }

    std::string_view whole_;
    std::string_view rest_;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
    if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
    return JsonPathReader{text}.read();
}

bool JsonPath::passes(const Step& filter, const nlohmann::json& value) {
    const Found inside = walk(filter.inside, value);
    if (filter.comparison.empty()) return !inside.empty() && !inside.front()->is_null();
    if (inside.empty()) return filter.comparison == "!=";
    const nlohmann::json& left = *inside.front();
    if (filter.comparison == "==") return left == filter.value;
    if (filter.comparison == "!=") return left != filter.value;
    if (left.type() != filter.value.type() && !(left.is_number() && filter.value.is_number())) {
        return false;  // no order between a text and a number
    }
    if (filter.comparison == "<") return left < filter.value;
    if (filter.comparison == "<=") return left <= filter.value;
    if (filter.comparison == ">") return left > filter.value;
    return left >= filter.value;
}

void JsonPath::apply(const Step& step, const nlohmann::json& value, Found& found) {
    switch (step.kind) {
        case StepKind::member: {
            if (!value.is_object()) return;
            const auto member = value.find(step.name);
            if (member != value.end()) found.push_back(&*member);
            return;
        }
        case StepKind::index: {
            if (!value.is_array()) return;
            const auto size = static_cast<std::int64_t>(value.size());
            const std::int64_t at = step.index < 0 ? size + step.index : step.index;
            if (at >= 0 && at < size) found.push_back(&value[static_cast<std::size_t>(at)]);
            return;
        }
        case StepKind::every:
            if (!value.is_structured()) return;
            for (const auto& element : value) found.push_back(&element);
            return;
        case StepKind::filter:
            if (!value.is_array()) return;
            for (const auto& element : value) {
                if (passes(step, element)) found.push_back(&element);
            }
            return;
    }
}

JsonPath::Found JsonPath::walk(const std::vector<Step>& steps, const nlohmann::json& root) {
    Found values{&root};
    for (const Step& step : steps) {
        Found next;
        for (const nlohmann::json* value : values) apply(step, *value, next);
        values = std::move(next);
    }
    return values;
}

std::vector<const nlohmann::json*> JsonPath::find(const nlohmann::json& root) const {
    return walk(steps_, root);
}

std::string plain_text(const nlohmann::json& value) {
    if (value.is_null()) return "";
    if (value.is_string()) return value.get<std::string>();
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

// The end of the braces that begin the text: quotes may hold a brace.
std::size_t closing_brace(std::string_view text) {
    char quote = 0;
    for (std::size_t at = 1; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0) {
            if (c == '\\') ++at;
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '}') {
            return at;
        }
    }
    return std::string_view::npos;
}

std::string without_escapes(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_escape = text[at] == '\\' && at + 1 < text.size();
        if (!is_escape) {
            out += text[at];
            continue;
        }
        const char c = text[++at];
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    return out;
}

Error bad_template(std::string_view text, const std::string& what) {
    return make_error(ErrorCode::BadRequest,
                      "the template \"" + std::string{text} + "\" cannot be read: " + what);
}

}  // namespace

Result<JsonTemplate> JsonTemplate::parse(std::string_view text) {
    const std::string_view whole = text;
    JsonTemplate out;
    // kubectl accepts a path without braces, too.
    const std::string in_braces = "{" + std::string{text} + "}";
    if (text.find('{') == std::string_view::npos) text = in_braces;
    std::vector<Part> open_ranges;
    const auto parts = [&]() -> std::vector<Part>& {
        return open_ranges.empty() ? out.parts_ : open_ranges.back().parts;
    };
    while (!text.empty()) {
        const std::size_t brace = std::min(text.find('{'), text.size());
        if (brace > 0) {
            Part& part = parts().emplace_back();
            part.text = text.substr(0, brace);
            text.remove_prefix(brace);
            continue;
        }
        const std::size_t end = closing_brace(text);
        if (end == std::string_view::npos) return bad_template(whole, "a } is missing");
        std::string_view inside = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (inside == "end") {
            if (open_ranges.empty()) return bad_template(whole, "{end} without {range}");
            Part range = std::move(open_ranges.back());
            open_ranges.pop_back();
            parts().push_back(std::move(range));
            continue;
        }
        if (inside.starts_with('"') || inside.starts_with('\'')) {
            Part& part = parts().emplace_back();
            part.text = without_escapes(inside.substr(1, inside.size() - 2));
            continue;
        }
        Part part;
        part.has_path = true;
        part.is_range = inside.starts_with("range ");
        if (part.is_range) inside.remove_prefix(6);
        Result<JsonPath> path = JsonPath::parse(inside);
        if (!path) return path.error();
        part.path = std::move(*path);
        (part.is_range ? open_ranges : parts()).push_back(std::move(part));
    }
    if (!open_ranges.empty()) return bad_template(whole, "{range} without {end}");
    return out;
}

void JsonTemplate::render_parts(const std::vector<Part>& parts, const nlohmann::json& root,
                                std::string& out) {
    for (const Part& part : parts) {
        if (!part.has_path) {
            out += part.text;
            continue;
        }
        bool is_first = true;
        for (const nlohmann::json* value : part.path.find(root)) {
            if (part.is_range) {
                render_parts(part.parts, *value, out);
                continue;
            }
            out += (is_first ? "" : " ") + plain_text(*value);
            is_first = false;
        }
    }
}

std::string JsonTemplate::render(const nlohmann::json& root) const {
    std::string out;
    render_parts(parts_, root, out);
    return out;
}

}  // namespace gpuctl::cli
