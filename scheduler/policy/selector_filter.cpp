#include <algorithm>
#include <charconv>
#include <optional>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl {
namespace {

std::optional<std::int64_t> as_integer(const std::string& text) {
    std::int64_t value = 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    if (begin != end && *begin == '+' && end - begin > 1 && begin[1] != '-') ++begin;  // as Go does
    const auto [stopped, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stopped != end || text.empty()) return std::nullopt;
    return value;
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool meets(const SelectorRequirement& requirement, const std::string* value) {
    switch (requirement.op) {
        case SelectorOperator::in:
            return value != nullptr && contains(requirement.values, *value);
        case SelectorOperator::not_in:  // an absent key is not in any list
            return value == nullptr || !contains(requirement.values, *value);
        case SelectorOperator::exists:
            return value != nullptr;
        case SelectorOperator::does_not_exist:
            return value == nullptr;
        case SelectorOperator::gt:
        case SelectorOperator::lt: {
            if (value == nullptr || requirement.values.size() != 1) return false;
            const auto has = as_integer(*value);
            const auto asked = as_integer(requirement.values.front());
            if (!has || !asked) return false;
            return requirement.op == SelectorOperator::gt ? *has > *asked : *has < *asked;
        }
    }
    return false;
}

// Only metadata.name is supported, with In or NotIn and one value (the form that the DaemonSet
// controller uses).
bool meets_field(const SelectorRequirement& requirement, const NodeFacts& node) {
    if (requirement.key != "metadata.name" || requirement.values.size() != 1) return false;
    if (requirement.op != SelectorOperator::in && requirement.op != SelectorOperator::not_in) {
        return false;
    }
    return meets(requirement, &node.name);
}

}  // namespace

bool matches_term(const SelectorTerm& term, const NodeFacts& node) {
    if (term.broken || (term.labels.empty() && term.fields.empty())) return false;
    for (const SelectorRequirement& requirement : term.labels) {
        const auto label = node.labels.find(requirement.key);
        if (!meets(requirement, label == node.labels.end() ? nullptr : &label->second)) {
            return false;
        }
    }
    return std::all_of(
        term.fields.begin(), term.fields.end(),
        [&node](const SelectorRequirement& field) { return meets_field(field, node); });
}

bool matches_selector(const PlacementRules& rules, const NodeFacts& node) {
    for (const auto& [key, value] : rules.node_selector) {
        const auto label = node.labels.find(key);
        const bool is_other = label == node.labels.end() || label->second != value;
        if (is_other && !has_fault(SeededFault::ignore_node_selectors)) return false;
    }
    if (!rules.required_affinity) return true;
    return std::any_of(rules.required_affinity->begin(), rules.required_affinity->end(),
                       [&node](const SelectorTerm& term) { return matches_term(term, node); });
}

}  // namespace gpuctl
