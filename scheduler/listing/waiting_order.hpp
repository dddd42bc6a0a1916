#pragma once
// The position of each waiting job in its queue, in the order in which the planner would try the
// jobs if all of them fitted (scheduler/policy/queue_order.hpp).
//
// Jobs of a queue that are equal by all terms of its order except age form one group, ordered by
// age. There are as many groups as namespaces times priorities, for any number of jobs; with the
// order SHORTEST there are as many as classes. Groups are sorted on request, and the result is
// cached until the state or the second changes. A position is then a sum over the groups before the
// job's group, and a search in the groups that are equal to it.
//
// Owner, thread: the Listing's.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/listing/allowance.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Waiting jobs ordered by age, stored as sorted runs of at most kRunMax, so that the number of jobs
// before a job is found quickly.
class AgedJobs {
public:
    void insert(const WaitingJob& job);
    void erase(const WaitingJob& job);
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] const WaitingJob& front() const { return runs_.front().jobs.front(); }
    // A position from the first job to the last; valid until the next change.
    struct Cursor {
        const AgedJobs* jobs = nullptr;
        std::size_t run = 0;
        std::size_t index = 0;
        [[nodiscard]] const WaitingJob& job() const { return jobs->runs_[run].jobs[index]; }
        // Moves to the next job. False: there was none.
        bool advance() {
            if (++index < jobs->runs_[run].jobs.size()) return true;
            index = 0;
            return ++run < jobs->runs_.size();
        }
    };
    [[nodiscard]] Cursor begin() const { return {this, 0, 0}; }
    // The number of jobs before `job`.
    [[nodiscard]] std::size_t rank_of(const WaitingJob& job) const;
    // The number of jobs at the beginning that satisfy `is_before`: counting stops at the first job
    // that does not.
    template <typename IsBefore>
    [[nodiscard]] std::size_t count_before(IsBefore is_before) const;

private:
    static constexpr std::size_t kRunMax = 256;
    // `last` is stored in the run itself, so that a search for a run reads few cache lines.
    struct Run {
        WaitingJob last;
        std::vector<WaitingJob> jobs;
    };
    [[nodiscard]] std::vector<Run>::iterator run_of(const WaitingJob& job);
    std::vector<Run> runs_;
    std::size_t size_ = 0;
};

class WaitingOrder {
public:
    // Call it when the job enters or leaves the queue book, or changes its place there.
    void update(const ClusterState& state, JobId job);
    void clear();

    // The position from 1 on; 0: the job does not wait in a queue. `revision` changes with every
    // change of the state.
    std::int64_t position_of(const ClusterState& state, JobId job, std::uint64_t revision);

    // Writes the next jobs of the queue, at most `most`, to `out`.
    void read(const ClusterState& state, QueueId queue, std::uint64_t revision, std::size_t most,
              std::vector<WaitingJob>& out);
    [[nodiscard]] std::size_t waiting_in(QueueId queue) const;

private:
    struct GroupKey {
        std::int32_t priority = 0;
        TenantId tenant;
        bool resumes = false;
        // of the class, if further members of the class key decide the order
        std::uint64_t serial = 0;
        friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
    };
    struct Group {
        AgedJobs jobs;
        std::size_t tier = 0;
    };
    struct Queue {
        std::map<GroupKey, Group> groups;
        std::size_t size = 0;
        // The groups in their order. Groups of one tier are equal and are merged by age.
        std::vector<std::vector<Group*>> tiers;
        std::uint64_t revision = 0;  // revision of the sorted groups; 0: not sorted
        std::int64_t second = 0;
        std::vector<std::size_t> before;  // by tier: number of jobs of the tiers before it
        bool are_summed = false;
    };
    struct Known {
        QueueId queue;
        GroupKey group;
        WaitingJob job;
        bool waits = false;
    };

    void sort_groups(const ClusterState& state, QueueId id, std::uint64_t revision);
    static void sum_up(Queue& queue);
    [[nodiscard]] static Contender contender(const ClusterState& state, const WaitingJob& job);
    Queue& queue_at(QueueId id);

    std::vector<Known> jobs_;    // by JobId
    std::vector<Queue> queues_;  // by QueueId
    Line line_;
    Allowance allowance_;
};

template <typename IsBefore>
std::size_t AgedJobs::count_before(IsBefore is_before) const {
    const auto reaches = std::partition_point(runs_.begin(), runs_.end(),
                                              [&](const Run& run) { return is_before(run.last); });
    std::size_t count = 0;
    for (auto run = runs_.begin(); run != reaches; ++run) count += run->jobs.size();
    if (reaches == runs_.end()) return count;
    const std::vector<WaitingJob>& jobs = reaches->jobs;
    const auto first = std::partition_point(jobs.begin(), jobs.end(), is_before);
    return count + static_cast<std::size_t>(first - jobs.begin());
}

}  // namespace gpuctl
