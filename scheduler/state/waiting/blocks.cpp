// Counters on which the refusal of a class depends: while they do not change, another try would
// give the same answer.

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// Under the quota of the namespace, pods in other pools count as well: they may be evicted for a
// job that waits here, or are terminating already.
std::uint64_t offers_of_other_pools(const TenantRow& tenant, const PoolTable& pools, PoolId own,
                                    std::uint16_t watch) {
    if (!tenant.has_quota() || has_fault(SeededFault::offer_in_its_pool_alone)) return 0;
    std::uint64_t sum = 0;
    if (watch & (ClassBlock::kVictims | ClassBlock::kPoolVictims)) sum += tenant.terminations;
    if ((watch & ClassBlock::kPoolVictims) == 0) return sum;
    for (std::uint32_t i = 0; i < pools.size(); ++i) {
        // Terminating pods there may bring a queue below its guarantee, so that its other ranks
        // must not go.
        if (PoolId{i} != own) sum += pools[i].victims + pools[i].terminations;
    }
    return sum;
}

}  // namespace

std::uint64_t WaitingJobs::revision(const ClassKey& key, std::uint16_t watch) const {
    const PoolRow& pool =
        state_.tree.pool_rows()[state_.tree.queue_rows()[key.queue.value()].pool.value()];
    std::uint64_t sum = 0;
    constexpr std::uint16_t room =
        ClassBlock::kPoolGains | ClassBlock::kPoolLending | ClassBlock::kShortWork;
    if (watch & room) sum += pool.gains;
    if (watch & ClassBlock::kPoolLending) {
        // Also what ends on a node that has left the pool: no room is gained there, but a queue of
        // the pool reserves less.
        for (const QueueId root : pool.roots) sum += state_.tree.queue_rows()[root.value()].shrinks;
    }
    if (watch & (ClassBlock::kHeadReservation | ClassBlock::kQuotaReservation))
        sum += pool.reservations.revision;
    if (watch & ClassBlock::kQueueShrinks) {
        for (QueueId id = key.queue; id.exists();
             id = state_.tree.queue_rows()[id.value()].parent) {
            sum += state_.tree.queue_rows()[id.value()].shrinks;
        }
    }
    if (watch & ClassBlock::kVictims) sum += state_.tree.queue_rows()[key.queue.value()].victims;
    if (watch & ClassBlock::kPoolVictims) sum += pool.victims;
    if (watch & (ClassBlock::kVictims | ClassBlock::kPoolVictims)) sum += pool.terminations;
    if (watch & ClassBlock::kTenantShrinks) {
        const TenantRow& tenant = state_.tree.tenant_rows()[key.tenant.value()];
        const PoolId own = state_.tree.queue_rows()[key.queue.value()].pool;
        sum += tenant.shrinks + offers_of_other_pools(tenant, state_.tree.pool_rows(), own, watch);
    }
    return sum;
}

void WaitingJobs::block(ClassId id, ClassBlock block) {
    block.revision = revision(book_.at(id).key, block.watch);
    book_.block(id, block);
}

void WaitingJobs::restore_refusal(ClassId id, Reason reason, Key<StateReader>) {
    ClassBlock refusal;
    refusal.reason = reason;
    book_.block(id, refusal);
}

bool WaitingJobs::is_blocked(const JobClass& waiting) const {
    const ClassBlock& block = waiting.block;
    if (has_fault(SeededFault::never_lift_blocks)) return block.watch != 0;
    return block.watch != 0 && block.revision == revision(waiting.key, block.watch);
}

}  // namespace gpuctl
