#pragma once
// What a cycle knows about the pool that it serves. The Planner opens a PoolTurn for each pool in
// turn and passes it from phase to phase.

#include <cstdint>

#include "scheduler/plan/backfill/quota_reservations.hpp"
#include "scheduler/plan/backfill/reservation.hpp"
#include "scheduler/plan/backfill/short_work.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct PoolTurn {
    PoolId pool;
    Line line;                           // the order of its waiting jobs
    QuotaReservations quota;             // quota reservations for heads of the line
    ShortWork short_work;                // the short-job reserve
    Reservation* reservation = nullptr;  // of the head-of-line job; may be empty

    // The longest time that a job of this namespace waits for its victims, see
    // longest_nomination().
    struct LongestWait {
        std::uint64_t changes = 0;  // PoolRow::changes when it was computed; 0: unknown
        TenantId tenant;
        Duration length;
    };
    LongestWait longest_wait;

    // Begins a new turn without reservations. Caches of earlier turns in the line stay.
    void open(const ClusterState& state, PoolId of, Reservation& reserved) {
        pool = of;
        reservation = &reserved;
        reservation->clear();
        // In a pool where long work is preempted for short work, the first job in order preempts
        // and needs no reservation.
        line.may_reserve = line.reserves_quota = reserves_quota(state.pool(of));
        line.heads = {};
        line.terminating_pods = {};
        line.passed.clear();
        quota.clear();
        longest_wait = {};
        short_work.open(state, of);
    }
};

}  // namespace gpuctl
