#pragma once
// Elastic jobs use idle capacity after every waiting job was tried (docs/adr/0017). A job starts
// with its minimum at its turn; its extra ranks are placed here, in the same Plan. A job that runs
// with less than its maximum is resized if more ranks fit, and ranks that find no room after all
// are deleted again. Each rank goes to the job of the highest priority that has least beyond its
// minimum. Jobs that state their speed by size get the sizes with the largest marginal speedup
// instead (grow_by_speedup.cpp): they start with them, grow to them, and give ranks to each other.
//
// Lifetime: that of the Planner; run() once per Plan and pool.

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/commit.hpp"
#include "scheduler/plan/elastic/sizes_by_speedup.hpp"
#include "scheduler/plan/pool_turn.hpp"
#include "scheduler/policy/remaining_work.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Grower {
public:
    explicit Grower(Placer& placer) : placer_(placer) {}

    // The job runs, or it ended before some of its ranks began.
    static bool is_about(const JobRow& job) {
        return job.holding.pods > 0 || job.elastic.deferred_from > 0;
    }

    // Returns the number of placed ranks.
    std::int64_t run(Commit& commit, PoolTurn& turn);

private:
    struct Grown {
        JobId job;
        std::vector<PodId> further;  // its pods beyond the minimum that exist and wait, by rank
        PodId like;                  // the rank that further ranks are like; none: it has its size
        std::int64_t extra = 0;      // ranks beyond its minimum
        std::int64_t more = 0;       // ranks that it may still get, or is to get
        std::int32_t asked = 0;      // ranks for which idle room was found, and no pods exist yet
        bool is_full = false;        // no further rank fits
        bool is_by_speedup = false;  // choices_ decides its size
        bool starts = false;         // it has ranks that only need placement, or will have
    };
    void find_jobs(const ClusterState& state, PoolId pool);
    // The job that gets the next rank; null: none.
    Grown* next(const ClusterState& state);
    std::int64_t place_further(Commit& commit, PoolTurn& turn);
    void delete_ranks_without_room(Commit& commit, PoolId pool);
    void ask_for_more(Commit& commit, PoolTurn& turn);
    void find_growing(const ClusterState& state);
    // The last of its bound ranks that stay, or its first.
    static PodId rank_like(const ClusterState& state, const JobRow& job);
    // True if pod_ (or as many more pods like its first one) are within limits and find room.
    // placed_ has the result.
    bool fits(const Overlay& overlay, PoolTurn& turn, const JobRow& job, const ReleasedUsage* with);
    // Ranks of elastic jobs of the pool are terminating, and their room is not nominated.
    static bool is_room_to_come(const ClusterState& state, PoolId pool);
    bool is_quota_awaited(const ClusterState& state, TenantId tenant);
    // Places the pods in placed_, which are the first extra ranks of the job. Returns their number;
    // 0: impossible.
    static std::int64_t place_pods(Commit& commit, PoolTurn& turn, Grown& one,
                                   const std::vector<Placement>& placed);

    // Growth that is tried on the columns and undone: most of its pods do not exist yet.
    class Trial {
    public:
        Trial(Grower& grower, const Overlay& overlay, PoolTurn& turn)
            : grower_(grower),
              overlay_(overlay),
              turn_(turn),
              attempt_(overlay.capacity, grower.log_) {}
        // Places this many ranks like that one, all or none.
        bool place(JobId job, PodId like, std::int64_t ranks);
        // Room for ranks that were ordered and do not exist yet belongs to their job.
        void place_ordered(JobId job, PodId like);
        void lift(PodId pod);  // as if it had terminated

    private:
        Grower& grower_;
        const Overlay& overlay_;
        PoolTurn& turn_;
        Transaction attempt_;
        ReleasedUsage with_;
    };

    // --- marginal speedup (grow_by_speedup.cpp) ---
    // Returns the number of placed ranks.
    std::int64_t grow_by_speedup(Commit& commit, PoolTurn& turn, bool no_job_waits);
    void read_choices(const ClusterState& state, bool no_job_waits);
    void read_choice(const ClusterState& state, std::size_t index, bool may_give);
    [[nodiscard]] JobId job_of(const SizeChoice& choice) const { return jobs_[choice.of].job; }
    [[nodiscard]] GpuMilli room_for_speedup(const ClusterState& state, PoolId pool) const;
    // Tries all aims as if the jobs that shrink had released their ranks. False: some aims cannot
    // be reached; they are limited to what was reached.
    bool lay_out_aims(const Overlay& overlay, PoolTurn& turn);
    bool shrink_to_aims(Commit& commit);
    std::int64_t grow_to_aims(Commit& commit, PoolTurn& turn, bool must_wait);

    Placer& placer_;
    std::vector<Grown> jobs_;
    std::map<TenantId, bool> quota_awaited_;  // results in this run
    std::vector<SizeChoice> choices_;
    RemainingWork left_;
    std::vector<std::string_view> models_;  // buffers
    std::vector<PodId> pod_;
    std::vector<Placement> placed_;
    std::vector<Transaction::Entry> log_;
    Readiness ready_;
};

}  // namespace gpuctl
