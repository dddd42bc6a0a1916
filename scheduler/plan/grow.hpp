#pragma once
// Elastic jobs take what is idle, once everybody who waits was tried (ADR 0017). A job starts with
// its minimum at its turn; its further ranks are placed here, in the same Plan. One that runs with
// less than its maximum is told to have more where that fits, and what finds no room after all is
// taken back. Each rank goes to the job of the highest priority that has least beyond its minimum.
// Jobs that say how fast they are by size have the sizes by which most is gained instead
// (grow_by_gain.cpp): they start with them, grow to them, and give to each other.
//
// Lives as long as the Planner; run() once a Plan and pool.

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/plan/figures.hpp"
#include "scheduler/plan/limit_holds.hpp"
#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/reservation.hpp"
#include "scheduler/plan/short_work.hpp"
#include "scheduler/plan/sizes_by_gain.hpp"
#include "scheduler/policy/work_left.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl {

class Grower {
public:
    explicit Grower(Placer& placer) : placer_(placer) {}

    // It runs, or ended before ranks of it began.
    static bool is_about(const JobRow& job) {
        return job.pods_held > 0 || job.elastic.deferred_from > 0;
    }

    void run(ClusterState& state, PoolId pool, Reservation& promised, LimitHolds& limits_kept,
             ShortWork& short_work, EngineFigures& figures, EffectList& effects);

private:
    struct Grown {
        JobId job;
        std::vector<PodId> further;  // that exist and wait, by rank
        PodId like;                  // one that runs
        std::int64_t extra = 0;      // ranks beyond its minimum
        std::int64_t more = 0;       // that it may have still, or is to have
        bool is_full = false;        // nothing more fits
        bool is_by_gain = false;     // its size is chosen among choices_
    };
    void find_jobs(const ClusterState& state, PoolId pool);
    // The next to have a rank more; null: nobody.
    Grown* next(const ClusterState& state);
    void place_further(ClusterState& state, EngineFigures& figures, EffectList& effects);
    void take_back_further(ClusterState& state, PoolId pool, EffectList& effects);
    void ask_for_more(ClusterState& state, EffectList& effects);
    void find_growing(const ClusterState& state);
    // True when pod_, or as many more like its first, are within limits and find room, at placed_.
    bool fits(ClusterState& state, const JobRow& job, const Relief* with);
    bool is_quota_awaited(const ClusterState& state, TenantId tenant);
    void place_pods(ClusterState& state, Grown& one, EngineFigures& figures, EffectList& effects);

    // --- by gain (grow_by_gain.cpp) ---
    struct Choice {
        std::size_t of = 0;  // jobs_
        PodId like;
        bool starts = false;  // it has further ranks, which only have to be placed, or will have
    };
    void grow_by_gain(ClusterState& state, PoolId pool, bool nobody_waits, EngineFigures& figures,
                      EffectList& effects);
    void read_choices(const ClusterState& state, bool nobody_waits);
    void read_choice(const ClusterState& state, std::size_t index, bool may_give);
    [[nodiscard]] static Column index_column(const ClusterState& state, const Grown& one);
    [[nodiscard]] GpuMilli room_for_gain(const ClusterState& state, PoolId pool) const;
    // Tries the aims as if who gives had given; false: some are out of reach, and may be no more
    // than what was reached.
    bool lay_out_aims(ClusterState& state, PoolId pool);
    bool give(ClusterState& state, EffectList& effects);
    void take(ClusterState& state, bool must_wait, EngineFigures& figures, EffectList& effects);

    Placer& placer_;
    Reservation* promised_ = nullptr;  // of this run
    LimitHolds* limits_kept_ = nullptr;
    ShortWork* short_work_ = nullptr;
    std::vector<Grown> jobs_;
    std::map<TenantId, bool> quota_awaited_;  // of whom it is known, in this run
    std::vector<Choice> choosing_;
    std::vector<SizeChoice> choices_;  // of choosing_
    WorkLeft left_;
    std::vector<std::string_view> models_;  // buffers
    std::vector<PodId> pod_;
    std::vector<Placement> placed_;
    std::vector<Transaction::Entry> log_;
    Readiness ready_;
};

}  // namespace gpuctl
