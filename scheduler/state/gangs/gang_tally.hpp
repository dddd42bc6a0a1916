#pragma once
// Counts the ranks of a gang against the numbers that make it whole.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/job/gang.hpp"
#include "scheduler/state/jobs/finished_ranks.hpp"

namespace gpuctl {

// A role with fewer ranks than its minimum.
struct RoleShort {
    std::string role;
    std::int64_t ranks_min = 0;
    std::int64_t ranks = 0;
};

// `size` must outlive the tally.
class GangTally {
public:
    explicit GangTally(const GangSize& size) : size_(&size), of_role_(size.roles.size(), 0) {}

    void add(std::string_view role, std::int64_t ranks = 1) {
        ranks_ += ranks;
        if (const std::size_t at = position(role); at < of_role_.size()) of_role_[at] += ranks;
    }
    void add(const FinishedRanks& finished) {
        for (const FinishedRole& one : finished.roles) {
            add(one.role, static_cast<std::int64_t>(one.ranks.size()));
        }
    }
    [[nodiscard]] std::int64_t ranks() const { return ranks_; }
    // The number of ranks that the role lacks; 0 for a role without a minimum.
    [[nodiscard]] std::int64_t missing_of(std::string_view role) const {
        const std::size_t at = position(role);
        return at < of_role_.size() ? missing_at(at) : 0;
    }
    // The fewest ranks that make the gang whole. A rank of a role that lacks ranks also counts for
    // the whole gang.
    [[nodiscard]] std::int64_t missing() const {
        std::int64_t of_roles = 0;
        for (std::size_t at = 0; at < of_role_.size(); ++at) of_roles += missing_at(at);
        return std::max(size_->ranks - ranks_, of_roles);
    }
    [[nodiscard]] bool is_whole() const { return missing() <= 0; }
    void read_short(std::vector<RoleShort>& out) const {
        out.clear();
        for (std::size_t at = 0; at < of_role_.size(); ++at) {
            const RoleMinimum& role = size_->roles[at];
            if (missing_at(at) > 0) out.push_back({role.role, role.ranks, of_role_[at]});
        }
    }

private:
    [[nodiscard]] std::size_t position(std::string_view role) const {
        std::size_t at = 0;
        while (at < of_role_.size() && size_->roles[at].role != role) ++at;
        return at;
    }
    [[nodiscard]] std::int64_t missing_at(std::size_t at) const {
        return std::max<std::int64_t>(size_->roles[at].ranks - of_role_[at], 0);
    }

    const GangSize* size_;
    std::int64_t ranks_ = 0;
    boost::container::small_vector<std::int64_t, 4> of_role_;
};

}  // namespace gpuctl
