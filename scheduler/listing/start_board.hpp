#pragma once
// The start estimates of waiting jobs (scheduler/plan/estimate/start_estimate.hpp), as lists show
// them. They are computed on request for whole lines, and cached. A long computation is done in
// pieces, between which the engine continues, and uses at most a hundredth of the time; until it
// ends the previous result is returned. So an estimate is up to a hundred times as old as its
// computation takes: milliseconds in a small cluster, some seconds with a hundred thousand jobs.
// Jobs that arrived since the previous result have no estimate.
//
// Owner, thread: the Listing's.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/listing/waiting_order.hpp"
#include "scheduler/plan/estimate/start_forecast.hpp"

namespace gpuctl {

class StartBoard {
public:
    // Amounts of work are in units of about 100 ns.
    static constexpr std::int64_t kAtOnce = 20'000;  // done at once, while the reader waits
    static constexpr std::int64_t kPiece = 10'000;
    static constexpr Duration kOldest = Duration::seconds(10);
    // The number of jobs of a pool's line that are examined to find jobs with an estimate.
    static constexpr std::size_t kLineMax = 2 * kEstimatedMax;

    // Starts an update if it is due, and completes it if it is small.
    void refresh(const ClusterState& state, WaitingOrder& order, std::uint64_t revision);
    // True if the update needs further calls of work().
    [[nodiscard]] bool is_at_work() const { return is_at_work_; }
    void work(const ClusterState& state, WaitingOrder& order, std::int64_t amount);
    // True if an update is in progress and the previous result is too old to show, because there
    // was no query for a while.
    [[nodiscard]] bool is_too_old(Instant now) const {
        return is_at_work_ && (computed_revision_ == 0 || now - computed_at_ > kOldest);
    }
    // Called when the policy has changed: discards the update in progress.
    void forget();

    // The estimate of a job that waits in a queue; no estimate is in the past.
    [[nodiscard]] std::optional<StartEstimate> of(const ClusterState& state, JobId job) const;

private:
    struct Known {
        JobId job;
        std::uint64_t arrival = 0;
        StartEstimate start;
    };
    using OfPool = std::vector<Known>;

    void begin(const ClusterState& state, std::uint64_t revision);
    void read_line(const ClusterState& state, WaitingOrder& order, PoolId pool,
                   std::vector<JobId>& line);
    void end_pool(PoolId pool);

    std::vector<OfPool> pools_;  // by PoolId
    // By JobId: index in the pool's vector; arbitrary for an unknown job (Known::job decides).
    std::vector<std::uint32_t> places_;
    std::uint64_t computed_revision_ = 0;
    std::int64_t computed_second_ = 0;
    Instant computed_at_;
    Instant next_at_;  // no update begins before this time

    bool is_at_work_ = false;
    std::uint64_t revision_ = 0;  // revision of the current computation
    std::int64_t second_ = 0;
    std::int64_t work_done_ = 0;
    std::uint32_t pool_ = 0;  // the pool that is computed now
    std::unique_ptr<StartForecast> forecast_;
};

}  // namespace gpuctl
