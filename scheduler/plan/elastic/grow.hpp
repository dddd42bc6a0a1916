#pragma once
// Elastic jobs use idle capacity after every waiting job was tried (docs/adr/0017). A job starts
// with its minimum at its turn; its extra ranks are placed here, in the same Plan. A job that runs
// with less than its maximum is resized if more ranks fit, and ranks that find no room after all
// are deleted again. Each rank goes to the job of the highest priority that has least beyond its
// minimum. Jobs that state their speed by size get the sizes with the largest marginal speedup
// instead (grow_by_gain.cpp): they start with them, grow to them, and give ranks to each other.
//
// Lifetime: that of the Planner; run() once per Plan and pool.

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/commit.hpp"
#include "scheduler/plan/elastic/sizes_by_gain.hpp"
#include "scheduler/plan/pool_turn.hpp"
#include "scheduler/policy/work_left.hpp"
#include "scheduler/state/accounts/relief.hpp"
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
        PodId like;                  // a running pod of the job
        std::int64_t extra = 0;      // ranks beyond its minimum
        std::int64_t more = 0;       // ranks that it may still get, or is to get
        bool is_full = false;        // no further rank fits
        bool is_by_gain = false;     // choices_ decides its size
    };
    void find_jobs(const ClusterState& state, PoolId pool);
    // The job that gets the next rank; null: none.
    Grown* next(const ClusterState& state);
    std::int64_t place_further(Commit& commit, PoolTurn& turn);
    void take_back_further(Commit& commit, PoolId pool);
    void ask_for_more(Commit& commit, PoolTurn& turn);
    void find_growing(const ClusterState& state);
    // True if pod_ (or as many more pods like its first one) are within limits and find room.
    // placed_ has the result.
    bool fits(const Overlay& overlay, PoolTurn& turn, const JobRow& job, const Relief* with);
    bool is_quota_awaited(const ClusterState& state, TenantId tenant);
    // Places the pods in placed_, which are the first extra ranks of the job. Returns their number;
    // 0: impossible.
    static std::int64_t place_pods(Commit& commit, PoolTurn& turn, Grown& one,
                                   const std::vector<Placement>& placed);

    // --- marginal speedup (grow_by_gain.cpp) ---
    struct Choice {
        std::size_t of = 0;  // index in jobs_
        PodId like;
        // it has extra ranks that only need placement, or it is about to have them
        bool starts = false;
    };
    // Returns the number of placed ranks.
    std::int64_t grow_by_gain(Commit& commit, PoolTurn& turn, bool nobody_waits);
    void read_choices(const ClusterState& state, bool nobody_waits);
    void read_choice(const ClusterState& state, std::size_t index, bool may_give);
    [[nodiscard]] static Column index_column(const ClusterState& state, const Grown& one);
    [[nodiscard]] GpuMilli room_for_gain(const ClusterState& state, PoolId pool) const;
    // Tries all aims as if the jobs that shrink had released their ranks. False: some aims cannot
    // be reached; they are limited to what was reached.
    bool lay_out_aims(const Overlay& overlay, PoolTurn& turn);
    bool give(Commit& commit);
    std::int64_t take(Commit& commit, PoolTurn& turn, bool must_wait);

    Placer& placer_;
    std::vector<Grown> jobs_;
    std::map<TenantId, bool> quota_awaited_;  // results in this run
    std::vector<Choice> choosing_;
    std::vector<SizeChoice> choices_;  // the jobs of choosing_
    WorkLeft left_;
    std::vector<std::string_view> models_;  // buffers
    std::vector<PodId> pod_;
    std::vector<Placement> placed_;
    std::vector<Transaction::Entry> log_;
    Readiness ready_;
};

}  // namespace gpuctl
