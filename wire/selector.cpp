#include "wire/selector.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gpuctl::wire {

class SelectorReader {
public:
    explicit SelectorReader(std::string_view text) : whole_(text), rest_(text) {}

    Result<Selector> read() {
        Selector selector;
        skip_spaces();
        while (!rest_.empty()) {
            Selector::Term term;
            if (Result<void> read = read_term(term); !read) return read.error();
            selector.terms_.push_back(std::move(term));
            skip_spaces();
            if (rest_.empty()) break;
            if (!skip(",")) return wrong("a comma is missing");
            skip_spaces();
            if (rest_.empty()) return wrong("a label is missing after the last comma");
        }
        return selector;
    }

private:
    [[nodiscard]] Error wrong(const std::string& what) const {
        return make_error(
            ErrorCode::BadRequest,
            "the selector \"" + std::string{whole_} + "\" cannot be read: " + what +
                "; write KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY or "
                "!KEY, separated by commas");
    }

    bool skip(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    void skip_spaces() {
        while (skip(" ")) continue;
    }

    std::string read_word() {
        const std::size_t end = std::min(rest_.find_first_of(" ,=!()"), rest_.size());
        std::string word{rest_.substr(0, end)};
        rest_.remove_prefix(end);
        skip_spaces();
        return word;
    }

    Result<void> read_term(Selector::Term& term) {
        term.is_negated = skip("!");
        term.key = read_word();
        if (term.key.empty()) return wrong("a label is missing");
        if (term.is_negated) return {};
        if (skip("!=")) {
            term.is_negated = true;
        } else if (!skip("==") && !skip("=")) {
            return read_set(term);
        }
        skip_spaces();
        term.values = {read_word()};
        return {};
    }

    Result<void> read_set(Selector::Term& term) {
        if (rest_.empty() || rest_.starts_with(',')) return {};  // the key exists
        const std::string word = read_word();
        if (word != "in" && word != "notin") return wrong("\"" + word + "\" is no comparison");
        term.is_negated = word == "notin";
        if (!skip("(")) return wrong("( is missing after " + word);
        skip_spaces();
        while (!rest_.empty() && !skip(")")) {
            const std::string value = read_word();
            if (value.empty()) return wrong("a value is missing in (...)");
            term.values.push_back(value);
            if (skip(",")) skip_spaces();
            if (rest_.empty()) return wrong(") is missing");
        }
        return term.values.empty() ? Result<void>{wrong("a value is missing in (...)")}
                                   : Result<void>{};
    }

    std::string_view whole_;
    std::string_view rest_;
};

Result<Selector> Selector::parse(std::string_view text) { return SelectorReader{text}.read(); }

// As in Kubernetes, an absent label is unlike every value.
bool Selector::Term::holds(const std::string* value) const {
    const bool is_there =
        value != nullptr &&
        (values.empty() || std::find(values.begin(), values.end(), *value) != values.end());
    return is_there != is_negated;
}

bool Selector::matches(const nlohmann::json& labels) const {
    std::map<std::string, std::string> map;
    const auto add = [&](const std::string& key, const nlohmann::json& value) {
        map[key] = value.is_string() ? value.get<std::string>() : value.dump();
    };
    if (labels.is_object()) {
        for (const auto& [key, value] : labels.items()) add(key, value);
    } else if (labels.is_array()) {
        for (const auto& label : labels) {
            if (label.is_object()) add(label.value("key", ""), label.value("value", ""));
        }
    }
    return matches_map(map);
}

}  // namespace gpuctl::wire
