#pragma once
// What a struct of the configuration must satisfy as a whole; each reports on the field it was read
// from. Structs without such a rule take the template.

#include "daemon/config/config.hpp"
#include "daemon/wire/fields.hpp"

namespace gpuctl::config {

template <typename T>
void check(const T&, const wire::Field&) {}

void check(const Server& server, const wire::Field& field);
void check(const TlsFiles& files, const wire::Field& field);
void check(const Lease& lease, const wire::Field& field);
void check(const OwnPod& pod, const wire::Field& field);
void check(const Kubernetes& kubernetes, const wire::Field& field);
void check(const EmbeddedNodes& nodes, const wire::Field& field);
void check(const Embedded& embedded, const wire::Field& field);
void check(const Cluster& cluster, const wire::Field& field);
void check(const BudgetPolicy& budget, const wire::Field& field);
void check(const ModelLimit& limit, const wire::Field& field);
void check(const QueuePolicy& queue, const wire::Field& field);
void check(const PoolPolicy& pool, const wire::Field& field);
void check(const PoolQuota& quota, const wire::Field& field);
void check(const TenantPolicy& tenant, const wire::Field& field);
void check(const MaintenanceWindow& window, const wire::Field& field);
void check(const Policy& policy, const wire::Field& field);
void check(const Names& names, const wire::Field& field);
void check(const Config& config, const wire::Field& field);

}  // namespace gpuctl::config
