#pragma once
// Checks of a whole struct of a policy; each reports on the field it was read from. Structs without
// such a check use the template. What needs the nodes of a cluster is checked by the configuration.

#include "scheduler/model/policy/policy.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

template <typename T>
void check(const T&, const wire::Field&) {}

void check(const BudgetPolicy& budget, const wire::Field& field);
void check(const ModelLimit& limit, const wire::Field& field);
void check(const QueuePolicy& queue, const wire::Field& field);
void check(const PoolPolicy& pool, const wire::Field& field);
void check(const PoolQuota& quota, const wire::Field& field);
void check(const TenantPolicy& tenant, const wire::Field& field);
void check(const MaintenanceWindow& window, const wire::Field& field);
void check(const Policy& policy, const wire::Field& field);

}  // namespace gpuctl::config
