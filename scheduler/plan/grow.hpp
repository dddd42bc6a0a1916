#pragma once
// Elastic jobs take what is idle, once everybody who waits was tried (ADR 0017). A job starts with
// its minimum at its turn; its further ranks are placed here, in the same Plan. One that runs with
// less than its maximum is told to have more where that fits, and what finds no room after all is
// taken back. Each rank goes to the job of the highest priority that has least beyond its minimum.
//
// Lives as long as the Planner; run() once a Plan and pool.

#include <cstdint>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/plan/figures.hpp"
#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/reservation.hpp"
#include "scheduler/plan/short_work.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl {

class Grower {
public:
    explicit Grower(Placer& placer) : placer_(placer) {}

    void run(ClusterState& state, PoolId pool, Reservation& promised, ShortWork& short_work,
             EngineFigures& figures, EffectList& effects);

private:
    struct Grown {
        JobId job;
        std::vector<PodId> further;  // that exist and wait, by rank
        PodId like;                  // one that runs
        std::int64_t extra = 0;      // ranks beyond its minimum
        std::int64_t more = 0;       // that it may have still, or is to have
        bool is_full = false;        // nothing more fits
    };
    void find_jobs(const ClusterState& state, PoolId pool);
    // The next to have a rank more; null: nobody.
    Grown* next(const ClusterState& state);
    void place_further(ClusterState& state, EngineFigures& figures, EffectList& effects);
    void take_back_further(ClusterState& state, EffectList& effects);
    void ask_for_more(ClusterState& state, EffectList& effects);
    void find_growing(const ClusterState& state);
    // True when one more like `like` is within limits and finds room, at placed_.
    bool fits(ClusterState& state, const JobRow& job, PodId like, const Relief* with);

    Placer& placer_;
    Reservation* promised_ = nullptr;  // of this run
    ShortWork* short_work_ = nullptr;
    std::vector<Grown> jobs_;
    std::vector<std::string_view> models_;  // buffers
    std::vector<PodId> pod_;
    std::vector<Placement> placed_;
    std::vector<Transaction::Entry> log_;
    Readiness ready_;
};

}  // namespace gpuctl
