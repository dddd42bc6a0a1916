#pragma once
// Who is first in line for what a limit leaves: of the classes that a limit stops, the first in the
// pool's order for each limit (docs/adr/0028). One limit has one head; who hits a limit that has a
// head already is behind that one, whatever else stops it. Those are passed over for whom nothing
// can be kept, so many at most.
//
// Lives in a Line, for one Plan: heads are found as the line is gone through.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class LimitHeads {
public:
    // Of all limits that a class which is about to be tried is under. Who comes before it may put
    // another class first, which is asked for, too: so they add up until one is tried.
    void look_before(ClassId tried) { tried_.push_back(tried); }
    [[nodiscard]] bool looked_before(ClassId tried) const;
    void forget_tried() { tried_.clear(); }
    // Of all, and nobody but heads is looked for.
    void look_for_all() { looks_for_all_ = true; }
    // Room on nodes is promised to it: its limits are kept for it, too.
    void note_promised(JobId job) { jobs_.push_back(job); }
    void note(const ClusterState& state, ClassId head);
    // Nothing can be kept for it, as nobody knows when it would be enough: the next one is asked.
    void pass(ClassId head) { passed_.push_back(head); }
    // It is one, or was passed over, or is behind one.
    [[nodiscard]] bool has_answer_for(const ClusterState& state, ClassId id) const;
    // The same of one of another pool: of the heads elsewhere those answer that come before it.
    [[nodiscard]] bool has_answer_elsewhere(const ClusterState& state, ClassId id) const;
    [[nodiscard]] const std::vector<JobId>& jobs() const { return jobs_; }
    [[nodiscard]] bool is_known(JobId job) const;

    // Whether a class that is blocked by a limit has a turn all the same: to become a head, or
    // because the one that it was refused for does not come before it any more.
    [[nodiscard]] bool offers(const ClusterState& state, ClassId id) const;

private:
    [[nodiscard]] bool was_passed(ClassId id) const;

    std::vector<ClassId> heads_;
    std::vector<JobId> jobs_;
    std::vector<ClassId> passed_;
    std::vector<ClassId> tried_;
    bool looks_for_all_ = false;
};

// Else whoever a limit stops steps aside; or has others stopped, where long work is for short.
inline bool keeps_limits(const PoolRow& pool) {
    return pool.backfill.head == HeadOfLine::reserve && !pool.preemption.stops_by_run_time();
}

// The head waits in another pool and comes after `to`: it is of lower priority, or of the same and
// came later. What is kept for it is not kept from `to`, which may be a head itself.
bool gives_way_elsewhere(const ClusterState& state, const JobRow& head, const JobRow& to);

// What a namespace may hold is the same in all pools, and those have no order among each other: of
// what waits for it in other pools than this one, the highest priority, aged, of equals who came
// first.
// Who comes after `before` by that is left out, and who has an answer.
ClassId first_elsewhere(const ClusterState& state, PoolId pool, TenantId tenant, ClassId before,
                        const LimitHeads& known);

// True when a job like `other` counts against a limit that the class is under, whether it was that
// one that stopped it or another; what the pool's queues keep back from each other only if it was.
bool is_under_limit_of(const ClusterState& state, const JobClass& stopped, const ClassKey& other);

}  // namespace gpuctl
