#pragma once
// What holds of every promise to the first in line, of room on nodes and of what limits leave.

#include <utility>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Even where no moment can be told, something is kept for it.
bool has_waited_for_long(const ClusterState& state, const JobRow& job);
// It runs, nobody knows for how long, and it will come to an end by itself.
bool ends_some_day(const PodRow& pod);
Instant began_at(const PodRow& pod);
// Of what has no end yet: by its limit, as if it began when its claim ends. Never: it has no limit.
Instant claimed_end(const ClusterState& state, const PodRow& pod);

// Pods with an end, by that: what runs, and what is claimed. Else a promise would be given up while
// others, who have to be over by then, wait for those that were stopped for them.
class Ends {
public:
    explicit Ends(const ClusterState& state);
    [[nodiscard]] bool has_more() const {
        return next_ != runs_.end() || next_claimed_ < claimed_.size();
    }
    [[nodiscard]] Instant at() const {
        return is_claimed_next() ? next_claim().first : next_->first;
    }
    PodId take() {
        return is_claimed_next() ? claimed_[next_claimed_++].second : (next_++)->second;
    }

private:
    using End = std::pair<Instant, PodId>;
    [[nodiscard]] const End& next_claim() const { return claimed_[next_claimed_]; }
    [[nodiscard]] bool is_claimed_next() const {
        if (next_claimed_ == claimed_.size()) return false;
        return next_ == runs_.end() || next_claim().first < next_->first;
    }
    const ClusterState::Ends& runs_;
    ClusterState::Ends::const_iterator next_;
    std::vector<End> claimed_;
    std::size_t next_claimed_ = 0;
};

// Work of this limit that starts then has ended by the moment that was promised.
bool is_over_by(Instant moment, Instant start, Duration limit);

}  // namespace gpuctl
