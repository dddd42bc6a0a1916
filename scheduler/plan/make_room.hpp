#pragma once
// The last resort of a job that finds no room at its turn: others are stopped for it, and what they
// leave is kept. Least disruptive first: elastic jobs give what they have above their minimum, then
// gangs that have lacked ranks for too long give up what does no work, then what was lent of a
// guarantee is taken back, then others of its own queue are preempted. Nobody is stopped unless it
// is shown that the job fits then.

#include "scheduler/model/effect_list.hpp"
#include "scheduler/plan/eviction_search.hpp"
#include "scheduler/plan/reservation.hpp"
#include "scheduler/plan/shorter.hpp"

namespace gpuctl {

class RoomMaker {
public:
    explicit RoomMaker(Placer& placer) : search_(placer) {}

    // At the beginning of a Plan.
    void open() { stoppable_.forget(); }
    // Cheap: could there be anybody? Adds to `watch` what must move before the answer is another.
    bool may_try(const ClusterState& state, JobId job, const std::vector<PodId>& pods,
                 const Load& ask, std::uint16_t& watch) const;
    // True when pods are being stopped for it now. Beside a promise: of which nothing may be taken.
    bool make(ClusterState& state, JobId job, const std::vector<PodId>& pods, const Load& ask,
              Reservation* beside, EffectList& effects);
    [[nodiscard]] const std::vector<Victim>& victims() const { return plan_.victims; }  // of it
    [[nodiscard]] const std::vector<Placement>& round() const { return plan_.round; }

private:
    bool shrink(ClusterState& state, JobId job, const std::vector<PodId>& pods, const Load& ask);
    bool undo_stranded(ClusterState& state, JobId job, const std::vector<PodId>& pods);
    bool start_anew(ClusterState& state, JobId job, const std::vector<PodId>& pods,
                    EffectList& effects);
    bool take_back(ClusterState& state, JobId job, const std::vector<PodId>& pods, GpuMilli ask);
    bool preempt(ClusterState& state, JobId job, const std::vector<PodId>& pods);
    bool stop_longer(ClusterState& state, JobId job, const std::vector<PodId>& pods);
    // Who stands where room is promised is left out, and what leaves there leaves no room.
    void leave_what_is_promised(const ClusterState& state);
    bool find(ClusterState& state, JobId job, const std::vector<PodId>& pods);  // of candidates_
    // Among the candidates, as far as queues keep what they are guaranteed.
    bool search_lent(ClusterState& state, JobId job, const std::vector<PodId>& pods);
    void look_again_later(ClusterState& state, JobId job);

    EvictionSearch search_;
    Reservation* beside_ = nullptr;  // of this make()
    StoppableWork stoppable_;
    WorkLeft left_;
    Candidates candidates_;  // buffers
    EvictionPlan plan_;
};

}  // namespace gpuctl
