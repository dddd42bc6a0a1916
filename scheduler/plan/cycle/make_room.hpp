#pragma once
// The last resort for a job that finds no room at its turn: pods are evicted for it, and their
// capacity is nominated for it. The least disruptive way is tried first: elastic jobs release ranks
// above their minimum, then gangs that have lacked ranks for too long are evicted, then lent
// guarantees are reclaimed, then jobs of its own queue are preempted. No pod is evicted unless a
// trial shows that the job fits afterwards.

#include "scheduler/plan/backfill/reservation.hpp"
#include "scheduler/plan/commit.hpp"
#include "scheduler/plan/preempt/eviction_search.hpp"
#include "scheduler/plan/preempt/shorter_job.hpp"

namespace gpuctl {

struct RoomRequest {
    JobId job;
    const std::vector<PodId>& pods;  // the pods that need room, all of them or none
    Load ask;                        // the request of these pods
    Reservation* withheld;           // a reservation that they may not use; null: none
};

class RoomMaker {
public:
    explicit RoomMaker(Placer& placer) : search_(placer) {}

    // Called at the beginning of a cycle.
    void open() { stoppable_.forget(); }
    // A cheap check: could there be a victim? Adds to `watch` the changes that may change the
    // answer.
    bool may_try(const ClusterState& state, const RoomRequest& want, std::uint16_t& watch) const;
    // Evicts pods and nominates their room. Returns the victims, and where the pods are placed when
    // the victims have terminated (valid until the next call); null: no eviction would help.
    const EvictionPlan* make(Commit& commit, const RoomRequest& want);

private:
    bool shrink(const Overlay& overlay, const RoomRequest& want);
    bool undo_stranded(Commit& commit, const RoomRequest& want);
    bool restart_elsewhere(Commit& commit, const RoomRequest& want);
    bool reclaim_lent(Commit& commit, const RoomRequest& want);
    bool preempt(Commit& commit, const RoomRequest& want);
    bool stop_longer(Commit& commit, const RoomRequest& want);
    // Excludes candidates on reserved nodes, because pods that terminate there make no room for the
    // job.
    void spare_reserved_nodes(const ClusterState& state, const RoomRequest& want);
    // Reads the candidates of the pool that `may_stop` allows.
    void collect(Commit& commit, const RoomRequest& want, Consent consent,
                 const std::function<bool(const JobRow&)>& may_stop);
    bool find(const Overlay& overlay, const RoomRequest& want);  // searches candidates_
    // Searches the candidates whose eviction leaves every queue its guarantee.
    bool search_lent(const Overlay& overlay, const RoomRequest& want);
    void retry_later(Commit& commit, const RoomRequest& want) const;

    EvictionSearch search_;
    StoppableWork stoppable_;
    RemainingWork left_;
    Candidates candidates_;  // buffers
    EvictionPlan plan_;
};

}  // namespace gpuctl
