// Node selector terms and tolerations.

#include <charconv>

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {

namespace {

std::optional<SelectorOperator> operator_of(std::string_view word) {
    if (word == "In") return SelectorOperator::in;
    if (word == "NotIn") return SelectorOperator::not_in;
    if (word == "Exists") return SelectorOperator::exists;
    if (word == "DoesNotExist") return SelectorOperator::does_not_exist;
    if (word == "Gt") return SelectorOperator::gt;
    if (word == "Lt") return SelectorOperator::lt;
    return std::nullopt;
}

bool is_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

bool has_valid_values(const SelectorRequirement& requirement) {
    switch (requirement.op) {
        case SelectorOperator::in:
        case SelectorOperator::not_in:
            return !requirement.values.empty();
        case SelectorOperator::exists:
        case SelectorOperator::does_not_exist:
            return requirement.values.empty();
        case SelectorOperator::gt:
        case SelectorOperator::lt:
            return requirement.values.size() == 1 && is_integer(requirement.values.front());
    }
    return false;
}

// matchFields has one field and two operators, with exactly one value; the DaemonSet controller
// uses it.
bool is_valid_field(const SelectorRequirement& requirement) {
    return requirement.key == "metadata.name" && requirement.values.size() == 1 &&
           (requirement.op == SelectorOperator::in || requirement.op == SelectorOperator::not_in);
}

// False: the requirement makes its term unsatisfiable.
bool read_requirement(JsonCursor& cursor, SelectorRequirement& requirement) {
    std::optional<SelectorOperator> op;
    cursor.object([&](std::string_view key) {
        if (key == "key") {
            requirement.key = cursor.string();
        } else if (key == "operator") {
            op = operator_of(cursor.string());
        } else if (key == "values") {
            cursor.array([&] { requirement.values.emplace_back(cursor.string()); });
        } else {
            cursor.skip();
        }
    });
    if (!op || requirement.key.empty()) return false;
    requirement.op = *op;
    return true;
}

SelectorTerm read_term(JsonCursor& cursor) {
    SelectorTerm term;
    cursor.object([&](std::string_view key) {
        const bool labels = key == "matchExpressions";
        if (!labels && key != "matchFields") return cursor.skip();
        cursor.array([&] {
            SelectorRequirement requirement;
            const bool readable = read_requirement(cursor, requirement);
            const bool valid =
                readable && (labels ? has_valid_values(requirement) : is_valid_field(requirement));
            if (!valid) term.broken = true;
            (labels ? term.labels : term.fields).push_back(std::move(requirement));
        });
    });
    return term;
}

}  // namespace

std::vector<SelectorTerm> read_node_selector(JsonCursor& cursor) {
    std::vector<SelectorTerm> terms;
    cursor.object([&](std::string_view key) {
        if (key == "nodeSelectorTerms") {
            cursor.array([&] { terms.push_back(read_term(cursor)); });
        } else {
            cursor.skip();
        }
    });
    return terms;
}

PreferredTerm read_preferred(JsonCursor& cursor) {
    PreferredTerm preferred;
    cursor.object([&](std::string_view key) {
        if (key == "weight") {
            preferred.weight = cursor.integer();
        } else if (key == "preference") {
            preferred.term = read_term(cursor);
        } else {
            cursor.skip();
        }
    });
    return preferred;
}

std::optional<TaintEffect> taint_effect_of(std::string_view word) {
    if (word == "NoSchedule") return TaintEffect::no_schedule;
    if (word == "PreferNoSchedule") return TaintEffect::prefer_no_schedule;
    if (word == "NoExecute") return TaintEffect::no_execute;
    return std::nullopt;
}

std::optional<Toleration> read_toleration(JsonCursor& cursor) {
    Toleration toleration;
    bool known = true;
    cursor.object([&](std::string_view key) {
        if (key == "key") {
            toleration.key = cursor.string();
        } else if (key == "operator") {
            const std::string_view word = cursor.string();
            known = word.empty() || word == "Equal" || word == "Exists";
            if (word == "Exists") toleration.op = TolerationOperator::exists;
        } else if (key == "value") {
            toleration.value = cursor.string();
        } else if (key == "effect") {
            const std::string_view word = cursor.string();
            toleration.effect = taint_effect_of(word);
            if (!toleration.effect && !word.empty()) known = false;
        } else {
            cursor.skip();
        }
    });
    if (!known) return std::nullopt;
    return toleration;
}

}  // namespace gpuctl::k8s
