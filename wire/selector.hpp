#pragma once
// A selector of labels, as Kubernetes writes it: "app=web,tier!=db,gpu-type in (H100,A100),!old,x".

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::wire {

class Selector {
public:
    // An empty text selects everything. Errors: BadRequest.
    static Result<Selector> parse(std::string_view text);

    // Labels as an object {KEY: VALUE} or a list [{key, value}], as REST has them.
    [[nodiscard]] bool matches(const nlohmann::json& labels) const;
    // Any map from keys to values.
    template <typename Labels>
    [[nodiscard]] bool matches_map(const Labels& labels) const {
        for (const Term& term : terms_) {
            const auto found = labels.find(term.key);
            const std::string* value = found == labels.end() ? nullptr : &found->second;
            if (!term.holds(value)) return false;
        }
        return true;
    }
    [[nodiscard]] bool is_empty() const { return terms_.empty(); }

private:
    friend class SelectorReader;

    struct Term {
        std::string key;
        std::vector<std::string> values;  // empty: the key exists
        bool is_negated = false;
        // nullptr: the label is absent.
        [[nodiscard]] bool holds(const std::string* value) const;
    };

    std::vector<Term> terms_;
};

}  // namespace gpuctl::wire
