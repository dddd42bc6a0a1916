#pragma once
// The rows of pools, queues and tenants, and which part may write which struct of a row
// (table.hpp).

#include <utility>

#include "scheduler/base/ids.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class Accounts;
class Evictions;
class QueueTree;
class WaitingJobs;

class PoolTable final : public Table<PoolRow, PoolTable> {
public:
    PoolBase& base(PoolId id, Key<QueueTree>) { return rows_[id.value()]; }
    PoolHoldings& holdings(PoolId id, Key<Accounts>) { return rows_[id.value()]; }
    std::int64_t& stoppable_without_gpus(PoolId id, Key<Evictions>) {
        return rows_[id.value()].stoppable_without_gpus;
    }
    void add(PoolRow row, Key<QueueTree>) { rows_.push_back(std::move(row)); }
};

class QueueTable final : public Table<QueueRow, QueueTable> {
public:
    QueueBase& base(QueueId id, Key<QueueTree>) { return rows_[id.value()]; }
    QueueHoldings& holdings(QueueId id, Key<Accounts>) { return rows_[id.value()]; }
    QueueVictims& victims(QueueId id, Key<Evictions>) { return rows_[id.value()]; }
    GpuMilli& waiting(QueueId id, Key<WaitingJobs>) { return rows_[id.value()].waiting; }
    void add(QueueRow row, Key<QueueTree>) { rows_.push_back(std::move(row)); }
};

class TenantTable final : public Table<TenantRow, TenantTable> {
public:
    TenantBase& base(TenantId id, Key<QueueTree>) { return rows_[id.value()]; }
    TenantHoldings& holdings(TenantId id, Key<Accounts>) { return rows_[id.value()]; }
    void add(TenantRow row, Key<QueueTree>) { rows_.push_back(std::move(row)); }
};

}  // namespace gpuctl
