#pragma once
// The planning cycle. It refreshes jobs that changed, then tries jobs in order until nothing more
// can be placed or the attempts are used up. It reads the state, and every decision goes through a
// Commit.
//
// Order: pools by name. In a pool: half-bound gangs, then system-critical pods, then queues
// (priority, under guarantee, least held per weight, oldest job). In a queue: priority, the tenant
// with least held per weight, oldest job. If the pool's policy says so, the first job that finds no
// room gets a reservation, and later jobs start only without delaying the reservation (EASY
// backfill, reservation.hpp); otherwise jobs that fit pass it. A job that finds no room at its turn
// may evict pods (docs/adr/0013). Elastic jobs use what is idle after that (docs/adr/0017).

#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/backfill/reservation.hpp"
#include "scheduler/plan/commit.hpp"
#include "scheduler/plan/cycle/job_starter.hpp"
#include "scheduler/plan/cycle/quota_heads.hpp"
#include "scheduler/plan/elastic/grow.hpp"
#include "scheduler/plan/pool_turn.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Planner {
public:
    // Runs one cycle. Returns the plan of the Commit.
    const CyclePlan& run(Commit& commit);

private:
    // The result for one pool, or for all of them.
    struct Served {
        // False: the attempts are used up, or a job must be tried first that only the next cycle
        // can try.
        bool is_complete = true;
        bool has_moved_quota = false;  // reserved for jobs of a pool whose turn may be over
        std::uint64_t attempts = 0;
        std::uint64_t known_refusals = 0;
    };

    // --- the phases, in order ---
    void refresh_changed_jobs(Commit& commit);
    // true: jobs that shrink must be tried first, in the next cycle
    static bool drain(Commit& commit);
    Served serve_pools(Commit& commit);
    std::int64_t grow_elastic_jobs(Commit& commit);  // returns the number of placed ranks
    bool report_heads(Commit& commit);               // true: a report has changed

    // --- a pool's turn ---
    Served serve(Commit& commit, PoolId pool, std::uint64_t attempts_most);
    // True if the pool's turn is over: no class is left to try, and none becomes free to be tried.
    static bool is_over(Commit& commit, PoolTurn& turn);
    // The first job of the class is at the head of the line and finds no room: makes a reservation
    // if possible. False: a limit blocks it, not a lack of room.
    bool reserve_for_head(Commit& commit, PoolTurn& turn, ClassId of);
    // Makes the reservation of the last cycle again.
    void renew_reservation(Commit& commit, PoolTurn& turn);
    std::int64_t grow(Commit& commit, PoolId pool);
    PoolTurn& growth_turn(PoolId pool);
    [[nodiscard]] std::uint64_t searches() const;  // of all pools' reservations so far

    // Memory that is reused from cycle to cycle.
    struct Scratch {
        PoolTurn serving;
        PoolTurn growing;
    };

    Placer placer_;
    JobStarter starter_{placer_};
    QuotaHeads quota_heads_{placer_};
    Grower grower_{placer_};
    std::vector<Reservation> reservations_;  // by pool
    Scratch scratch_;
};

}  // namespace gpuctl
