#pragma once
// The cycle. Refreshes jobs that changed, then tries jobs in order until nothing more can be
// placed or the attempts are used up. All that it decides goes through ClusterState::assume().
//
// Order: pools by name; in a pool half-bound gangs first, then system-critical pods, then queues
// (priority, under guarantee, least held per weight, oldest job), then in the queue priority, the
// tenant with least held per weight, oldest job. Where the pool says so, the first one that finds
// no room is promised some, and others go only beside it (reservation.hpp); else what does not fit
// steps aside for what does. Whoever finds no room at its turn may have others
// stopped for it (ADR 0013). What is idle after all of that goes to elastic jobs (ADR 0017).

#include <map>
#include <string_view>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/plan/figures.hpp"
#include "scheduler/plan/grow.hpp"
#include "scheduler/plan/limit_holds.hpp"
#include "scheduler/plan/make_room.hpp"
#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/reservation.hpp"
#include "scheduler/plan/short_work.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Planner {
public:
    void run(ClusterState& state, EngineFigures& figures, EffectList& effects);

private:
    // False: the attempts of this Plan are used up.
    bool serve(ClusterState& state, PoolId pool, std::int64_t& attempts_left,
               EngineFigures& figures, EffectList& effects);
    static void go_on_later(ClusterState& state);  // in the next Plan
    void grow(ClusterState& state, PoolId pool, EngineFigures& figures, EffectList& effects);
    // The first of the class is first in line and finds no room: promises it some, if that can be.
    // False: it is not room that it lacks, but a limit.
    bool make_promise(ClusterState& state, PoolId pool, ClassId of, EngineFigures& figures);
    void note_heads_before(ClusterState& state, const JobClass& waiting);
    void keep_promise(ClusterState& state, PoolId pool, EngineFigures& figures);
    void watch_room();
    bool find_room(ClusterState& state, PoolId pool);  // for pods_, into round_
    bool assume(ClusterState& state, JobId id, bool all_or_nothing, EffectList& effects);
    void refresh(ClusterState& state, JobId job, EngineFigures& figures, EffectList& effects);
    void attempt(ClusterState& state, ClassId chosen, EngineFigures& figures, EffectList& effects);
    // True when something of the job was placed.
    bool place_one_by_one(ClusterState& state, JobId job, EngineFigures& figures,
                          EffectList& effects);
    bool place_gang(ClusterState& state, JobId job, EngineFigures& figures, EffectList& effects);
    // True when pods are being stopped for it now.
    bool make_room(ClusterState& state, JobId job, EffectList& effects);
    bool is_within_limits(const ClusterState& state, const JobRow& job,
                          const std::vector<PodId>& pods);
    // It may have what limits leave beside those who come before it: behind_ otherwise.
    bool is_beside_heads(const ClusterState& state, const std::vector<PodId>& pods, Instant start);
    bool is_behind_promise(const ClusterState& state, JobId job, Instant start);
    Instant latest_start(const ClusterState& state, JobId job);
    void note_heads(ClusterState& state, PoolId pool);  // all of them, for growth
    void note_told_heads(ClusterState& state, PoolId pool);
    void tell_heads_anew(ClusterState& state);  // what came since they were told may stay longer
    // Whoever a limit stops and comes before the class is a head now; then it is its turn.
    bool look_for_heads(ClusterState& state, ClassId chosen);
    bool note_head(ClusterState& state, ClassId chosen);
    bool keep_limits_for(ClusterState& state, PoolId pool, JobId head);  // false: none can be
    // Of other pools, that wait for what the namespace may hold: those behind whom somebody is
    // here, and the first that came before a class.
    void note_heads_elsewhere(ClusterState& state);
    // Likewise, whoever is promised room there.
    void note_promised_elsewhere(const ClusterState& state, PoolId pool, LimitHeads& heads);
    void note_head_elsewhere(ClusterState& state, PoolId pool, Line& line, TenantId tenant,
                             ClassId before);
    void note_or_pass(ClusterState& state, PoolId pool, Line& line, ClassId head);
    void note_limits_moved(ClusterState& state, JobId job);
    [[nodiscard]] std::uint16_t limits_hit(const ClusterState& state, const JobRow& job) const;
    // True when room would not help the job of ready_: a limit stops the least that it can start
    // with, which is in pods_ then.
    bool is_limited(const ClusterState& state, const JobRow& job);
    void refuse(ClusterState& state, ClassId chosen, JobId job, EngineFigures& figures,
                EffectList& effects);
    const Explanation& explanation_of(const ClusterState& state, JobId job);

    [[nodiscard]] bool asks_the_same(const ClusterState& state, const JobRow& job,
                                     ShapeId shape) const;
    // Shapes that found no room in a pool, until the pool gains something.
    struct Refused {
        std::uint64_t shape_serial = 0;
        std::uint64_t gains = 0;
        std::int64_t ranks = 0;  // so many together, or more
    };
    Refused& refused(const ClusterState& state, PoolId pool, ShapeId shape);
    [[nodiscard]] bool is_refused(const ClusterState& state, PoolId pool, ShapeId shape,
                                  std::int64_t ranks);
    void note_refused(const ClusterState& state, PoolId pool, ShapeId shape, std::int64_t ranks);

    // Windows that the pods would be in or run into, beyond those that keep everybody out.
    // What its budgets say of the moment that it would be promised.
    bool is_allowed_then(const ClusterState& state, JobId job);
    void keep_outside_windows(const ClusterState& state, JobId job);

    Placer placer_;
    bool is_barred_ = false;                 // this attempt keeps out of windows to come
    Line line_;                              // of the pool that is being served
    Line heads_;                             // of it once all were tried, see note_heads()
    std::vector<Reservation> reservations_;  // by pool, for the first in it
    std::vector<Reservation> probes_;        // by pool, for those that limits stop
    PoolId pool_;                            // that is being served
    Reservation& reservation() { return reservations_[pool_.value()]; }
    LimitHolds limit_holds_;  // for the heads of line_
    struct {
        std::uint64_t changes = 0;  // of the pool, since when it is known; 0: it is not
        TenantId tenant;
        Duration length;
    } claim_longest_;                // in this pool, in this Plan, for work of that namespace
    Promise behind_;                 // for whom this attempt leaves what is under a limit
    ShortWork short_work_;           // what of the pool is kept for it
    bool has_shifted_ = false;       // the next Plan goes on: see loses_its_turn()
    bool has_moved_limits_ = false;  // of a namespace, for who waits in another pool
    bool is_long_ = false;           // the job of this attempt
    bool is_held_back_ = false;      // this attempt leaves alone what is promised
    RoomMaker room_maker_{placer_};
    Grower grower_{placer_};
    std::vector<std::vector<Refused>> refused_;  // by pool, then shape
    // Explanations of classes, valid while no amount in their pool changes.
    struct Told {
        std::uint64_t changes = 0;
        Explanation explanation;
    };
    std::map<std::pair<PoolId, ClassKey>, Told> told_;
    Readiness ready_;  // buffers
    std::vector<Placement> round_;
    std::vector<PodId> pods_;
    std::vector<std::string_view> models_;  // that the pods under trial may not go to
    std::size_t models_beside_ = 0;         // of which others that they take are left
    std::vector<LimitHit> over_budget_;     // by this attempt
    std::uint16_t watch_ = 0;  // what the refusals of this attempt depend on, see ClassBlock
};

}  // namespace gpuctl
