#pragma once
// Succeeded ranks of a gang whose pods are gone, because a node was drained or a user removed them.
// Their controller does not create them again (a Job remembers completed indexes). A gang that
// counted only its pods would wait for them for ever when another rank is created again.

#include <algorithm>
#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/pod.hpp"

namespace gpuctl {

// The ranks of one role. The roles of a gang often come from several controllers, which know
// nothing of each other. A gang without roles has one role with an empty name.
struct FinishedRole {
    std::string role;
    // its uid; another controller of the same role does not know these ranks
    std::string controller;
    std::vector<std::int32_t> ranks;  // sorted, not empty; -1 for each pod without a rank
};
BOOST_DESCRIBE_STRUCT(FinishedRole, (), (role, controller, ranks))

struct FinishedRanks {
    std::vector<FinishedRole> roles;  // in the order in which they were first seen
    Instant left_at;  // when the last pod of the job went; another pod may still come

    [[nodiscard]] bool empty() const { return roles.empty(); }
    [[nodiscard]] std::int64_t count() const {
        std::int64_t sum = 0;
        for (const FinishedRole& one : roles) sum += static_cast<std::int64_t>(one.ranks.size());
        return sum;
    }
    // The highest rank; -1: no pod has a rank.
    [[nodiscard]] std::int32_t last() const {
        std::int32_t rank = -1;
        for (const FinishedRole& one : roles) rank = std::max(rank, one.ranks.back());
        return rank;
    }
    [[nodiscard]] bool contains(std::int32_t rank) const {
        return std::any_of(roles.begin(), roles.end(), [rank](const FinishedRole& one) {
            return std::binary_search(one.ranks.begin(), one.ranks.end(), rank);
        });
    }
    // The first rank from `rank` on that has not finished.
    [[nodiscard]] std::int32_t first_open(std::int32_t rank) const {
        while (contains(rank)) ++rank;
        return rank;
    }
    void note_gone(const PodFacts& pod) {
        if (!pod.gang || pod.phase != PodPhase::succeeded || pod.controller_uid.empty()) return;
        auto known = find(pod.role);
        if (known == roles.end()) known = roles.insert(known, {pod.role, {}, {}});
        if (known->controller != pod.controller_uid) known->ranks.clear();
        known->controller = pod.controller_uid;
        std::vector<std::int32_t>& ranks = known->ranks;
        ranks.insert(std::lower_bound(ranks.begin(), ranks.end(), pod.rank), pod.rank);
    }
    // A pod of the job exists: of another controller, or of a rank that is to run again.
    void note_there(const PodFacts& pod) {
        const auto known = find(pod.role);
        if (known == roles.end()) return;
        if (known->controller != pod.controller_uid) {
            roles.erase(known);
            return;
        }
        if (pod.rank >= 0) std::erase(known->ranks, pod.rank);
        if (known->ranks.empty()) roles.erase(known);
    }

private:
    [[nodiscard]] std::vector<FinishedRole>::iterator find(const std::string& role) {
        return std::find_if(roles.begin(), roles.end(),
                            [&role](const FinishedRole& one) { return one.role == role; });
    }
};
BOOST_DESCRIBE_STRUCT(FinishedRanks, (), (roles, left_at))

}  // namespace gpuctl
