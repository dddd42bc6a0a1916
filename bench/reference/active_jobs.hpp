#pragma once
// A policy's list of submitted, unfinished jobs, in the last order that the policy gave it.

#include <algorithm>
#include <vector>

#include "sim/replay/world.hpp"

namespace gpuctl::reference {

class ActiveJobs {
public:
    // Removes jobs that are done and appends jobs that arrived.
    void follow(const replay::World& world) {
        std::erase_if(jobs_, [&](replay::JobIndex index) {
            return world.state(index).phase == replay::JobPhase::done;
        });
        for (; seen_ < world.arrived(); ++seen_) jobs_.push_back(replay::JobIndex{seen_});
    }

    // The order is stable over the whole history: the papers' simulators sort one list in place,
    // and their figures depend on that.
    template <typename Key>
    void sort_by(Key key) {
        keyed_.clear();
        for (const replay::JobIndex index : jobs_) keyed_.emplace_back(key(index), index);
        std::stable_sort(keyed_.begin(), keyed_.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i] = keyed_[i].second;
    }

    [[nodiscard]] const std::vector<replay::JobIndex>& jobs() const { return jobs_; }

private:
    std::vector<replay::JobIndex> jobs_;
    std::vector<std::pair<std::int64_t, replay::JobIndex>> keyed_;
    std::uint32_t seen_ = 0;
};

}  // namespace gpuctl::reference
