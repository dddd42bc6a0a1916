#pragma once
// Rules common to all head-of-line reservations, of nodes and of quota.

#include <utility>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// True if the job has waited long enough to get a reservation even if its start time is unknown.
bool has_waited_for_long(const ClusterState& state, const JobRow& job);
// True if the pod runs, its end is unknown, and it will end by itself.
bool ends_some_day(const PodRow& pod);
Instant began_at(const PodRow& pod);
// The end of a pod with nominated room by its run-time limit, as if it began when the nomination
// ends. Never: it has no limit.
Instant nominated_end(const ClusterState& state, const PodRow& pod);

// Pods with an end, in the order of their ends: running pods and pods with nominated room. Without
// the latter, a reservation would be lost while jobs that must end before it wait for their victims
// to terminate.
class Ends {
public:
    explicit Ends(const ClusterState& state);
    [[nodiscard]] bool has_more() const {
        return next_ != runs_.end() || next_nominated_ < nominated_.size();
    }
    [[nodiscard]] Instant at() const {
        return is_nominated_next() ? next_nominated().first : next_->first;
    }
    PodId pop() {
        return is_nominated_next() ? nominated_[next_nominated_++].second : (next_++)->second;
    }

private:
    using End = std::pair<Instant, PodId>;
    [[nodiscard]] const End& next_nominated() const { return nominated_[next_nominated_]; }
    [[nodiscard]] bool is_nominated_next() const {
        if (next_nominated_ == nominated_.size()) return false;
        return next_ == runs_.end() || next_nominated().first < next_->first;
    }
    const RunTimes::Ends& runs_;
    RunTimes::Ends::const_iterator next_;
    std::vector<End> nominated_;
    std::size_t next_nominated_ = 0;
};

// True if work with this limit that starts at `start` has ended by the reserved time.
bool is_over_by(Instant time, Instant start, Duration limit);

}  // namespace gpuctl
