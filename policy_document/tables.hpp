#pragma once
// Declares the tables of the structs of a policy.

#include "policy_document/keys.hpp"

namespace gpuctl::config {

template <>
const std::vector<Key<BudgetPolicy>>& keys<BudgetPolicy>();
template <>
const std::vector<Key<ModelLimit>>& keys<ModelLimit>();
template <>
const std::vector<Key<QueuePolicy>>& keys<QueuePolicy>();
template <>
const std::vector<Key<BackfillPolicy>>& keys<BackfillPolicy>();
template <>
const std::vector<Key<PreemptionPolicy>>& keys<PreemptionPolicy>();
template <>
const std::vector<Key<PoolPolicy>>& keys<PoolPolicy>();
template <>
const std::vector<Key<PoolQuota>>& keys<PoolQuota>();
template <>
const std::vector<Key<TenantPolicy>>& keys<TenantPolicy>();
template <>
const std::vector<Key<MaintenanceWindow>>& keys<MaintenanceWindow>();
template <>
const std::vector<Key<Policy>>& keys<Policy>();
// Those that are in the section `expert`.
const std::vector<Key<PreemptionPolicy>>& expert_preemption_keys();

}  // namespace gpuctl::config
