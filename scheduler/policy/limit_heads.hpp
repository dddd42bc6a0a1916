#pragma once
// The heads of the line under limits: of the classes that a limit blocks, the first in the pool's
// order for each limit (docs/adr/0028). One limit has one head. A job that hits a limit with a head
// is behind that head, whatever else blocks it. Heads for which no quota can be reserved are passed
// over, up to a maximum number.
//
// Part of a Line, for one Plan: heads are found while the jobs are tried in order.

#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class LimitHeads {
public:
    // Looks for the heads of all limits of a class that is about to be tried. A head may put
    // another class before it, which is looked up, too. So the entries add up until a class is
    // tried.
    void look_before(ClassId tried) { tried_.push_back(tried); }
    [[nodiscard]] bool looked_before(ClassId tried) const;
    void forget_tried() { tried_.clear(); }
    // Looks for the heads of all limits, and for heads only.
    void look_for_all() { looks_for_all_ = true; }
    // Adds a job with a reservation of nodes: the rest of its limits is reserved for it, too.
    void note_head_reservation(JobId job) { jobs_.push_back(job); }
    void add_head(const ClusterState& state, ClassId head);
    // Passes over a head for which nothing can be reserved, because the time at which it fits is
    // unknown. The next class is tried.
    void pass(ClassId head) { passed_.push_back(head); }
    // True if the class is a head, was passed over, or is behind a head.
    [[nodiscard]] bool has_answer_for(const ClusterState& state, ClassId id) const;
    // The same for a class of another pool: of the heads of other pools, only those before it
    // count.
    [[nodiscard]] bool has_answer_in_other_pool(const ClusterState& state, ClassId id) const;
    [[nodiscard]] const std::vector<JobId>& jobs() const { return jobs_; }
    [[nodiscard]] bool is_known(JobId job) const;

    // Whether a class that a limit blocks has a turn nevertheless: to become a head, or because the
    // job that it was refused for is no longer before it.
    [[nodiscard]] bool offers(const ClusterState& state, ClassId id) const;

private:
    [[nodiscard]] bool was_passed(ClassId id) const;

    std::vector<ClassId> heads_;
    std::vector<JobId> jobs_;
    std::vector<ClassId> passed_;
    std::vector<ClassId> tried_;
    bool looks_for_all_ = false;
};

// True if the pool reserves quota for heads under limits. Otherwise other jobs pass a job that a
// limit blocks, or the job preempts, if long work is preempted for short work.
inline bool reserves_quota(const PoolRow& pool) {
    return pool.backfill.head == HeadOfLine::reserve && !pool.preemption.stops_by_run_time();
}

// True if the head waits in another pool and is after `to`: it has lower priority, or the same
// priority and a later arrival. Its quota reservation does not apply to `to`, which may be a head
// itself.
bool yields_across_pools(const ClusterState& state, const JobRow& head, const JobRow& to);

// The quota of a namespace spans all pools, and pools have no order among each other. This function
// returns the first class of another pool that waits for the quota: by priority with ageing, then
// by arrival. It excludes classes after `before` in that order, and classes with an answer.
ClassId first_of_other_pools(const ClusterState& state, PoolId pool, TenantId tenant,
                             ClassId before, const LimitHeads& known);

// True if a job like `other` counts against a limit of the class, whether that limit blocked the
// class or not. The part that queues of the pool do not lend each other counts only if it blocked
// the class.
bool is_under_limit_of(const ClusterState& state, const JobClass& limited, const ClassKey& other);

}  // namespace gpuctl
