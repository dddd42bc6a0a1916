#pragma once
// Declares the tables of tables.cpp to those who read, print and compare configurations.

#include "daemon/config/keys.hpp"

namespace gpuctl::config {

template <>
const std::vector<Key<TlsFiles>>& keys<TlsFiles>();
template <>
const std::vector<Key<Server>>& keys<Server>();
template <>
const std::vector<Key<Lease>>& keys<Lease>();
template <>
const std::vector<Key<Kubernetes>>& keys<Kubernetes>();
template <>
const std::vector<Key<EmbeddedNodes>>& keys<EmbeddedNodes>();
template <>
const std::vector<Key<Embedded>>& keys<Embedded>();
template <>
const std::vector<Key<Cluster>>& keys<Cluster>();
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
template <>
const std::vector<Key<Journal>>& keys<Journal>();
template <>
const std::vector<Key<Logs>>& keys<Logs>();
template <>
const std::vector<Key<Metrics>>& keys<Metrics>();
template <>
const std::vector<Key<Logging>>& keys<Logging>();
template <>
const std::vector<Key<TopologyKeys>>& keys<TopologyKeys>();
template <>
const std::vector<Key<Names>>& keys<Names>();
template <>
const std::vector<Key<Config>>& keys<Config>();

}  // namespace gpuctl::config
