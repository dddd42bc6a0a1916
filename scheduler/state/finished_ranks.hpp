#pragma once
// Ranks of a gang that succeeded and whose pods are gone: a node was drained, or somebody tidied
// up. Their controller makes them no more (a Job remembers what is complete), so that a gang
// which counted its pods alone would wait for them for ever when another rank is made anew.

#include <algorithm>
#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/pod.hpp"

namespace gpuctl {

struct FinishedRanks {
    std::string controller;           // uid: another of the same name knows nothing of them
    std::vector<std::int32_t> ranks;  // sorted; -1 for each that has no rank
    Instant left_at;                  // when the last pod of the job was gone; a pod may come still

    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ranks.size()); }
    [[nodiscard]] bool contains(std::int32_t rank) const {
        return std::binary_search(ranks.begin(), ranks.end(), rank);
    }
    // The first from `rank` on that has not finished.
    [[nodiscard]] std::int32_t first_open(std::int32_t rank) const {
        while (contains(rank)) ++rank;
        return rank;
    }
    void note_gone(const PodFacts& pod) {
        if (!pod.gang || pod.phase != PodPhase::succeeded || pod.controller_uid.empty()) return;
        if (controller != pod.controller_uid) ranks.clear();
        controller = pod.controller_uid;
        ranks.insert(std::lower_bound(ranks.begin(), ranks.end(), pod.rank), pod.rank);
    }
    // A pod of the job that is there: of another controller, or of a rank that is open again.
    void note_there(const PodFacts& pod) {
        if (ranks.empty()) return;
        if (controller != pod.controller_uid) return ranks.clear();
        if (pod.rank >= 0) std::erase(ranks, pod.rank);
    }
};
BOOST_DESCRIBE_STRUCT(FinishedRanks, (), (controller, ranks, left_at))

}  // namespace gpuctl
