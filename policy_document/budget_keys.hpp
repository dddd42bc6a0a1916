#pragma once
// Budgets of GPU time: `budget` of a queue, and of a tenant in a pool.

#include <optional>

#include "policy_document/keys.hpp"

namespace gpuctl::config {

BudgetPolicy example_budget();

template <typename T>
Key<T> budget(std::optional<BudgetPolicy> T::* member, std::string_view meaning) {
    return optional_section("budget", member, example_budget(), meaning);
}

}  // namespace gpuctl::config
