#pragma once
// When waiting jobs start, as lists say it (plan/start_estimate.hpp): computed for whole lines when
// somebody asks, and kept. What takes long is computed in pieces, between which the engine goes
// on, and no more often than that it takes a hundredth of the time; until then the answer is the
// one before. So a start is up to a hundred times as old as it takes to compute: milliseconds in a
// small cluster, some seconds with a hundred thousand jobs. Jobs that came since have none.
//
// Owner, thread: the Listing's.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/listing/waiting_order.hpp"
#include "scheduler/plan/start_forecast.hpp"

namespace gpuctl {

class StartBoard {
public:
    // Work is counted in pieces of about 100 ns.
    static constexpr std::int64_t kAtOnce = 20'000;  // is done while the reader waits
    static constexpr std::int64_t kPiece = 10'000;
    static constexpr Duration kOldest = Duration::seconds(10);
    // So many jobs of a pool's line are looked at to find those that something can be said of.
    static constexpr std::size_t kLineMax = 2 * kEstimatedMax;

    // Begins to bring it up to date if that is due, and does it if it is little.
    void refresh(const ClusterState& state, WaitingOrder& order, std::uint64_t revision);
    // There is work to be done by further calls of work().
    [[nodiscard]] bool is_at_work() const { return is_at_work_; }
    void work(const ClusterState& state, WaitingOrder& order, std::int64_t amount);
    // It is being brought up to date, and what it says until then is so old that nobody should be
    // told: nobody has asked for a while.
    [[nodiscard]] bool is_too_old(Instant now) const {
        return is_at_work_ && (computed_revision_ == 0 || now - computed_at_ > kOldest);
    }
    // The policy is another one: what was begun is worth nothing.
    void forget();

    // Of a job that waits in a queue; nothing is said to be in the past.
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
    // By JobId: where in its pool's; of a job that is not known, anything (Known::job tells).
    std::vector<std::uint32_t> places_;
    std::uint64_t computed_revision_ = 0;
    std::int64_t computed_second_ = 0;
    Instant computed_at_;
    Instant next_at_;  // not before

    bool is_at_work_ = false;
    std::uint64_t revision_ = 0;  // as of which it is computed now
    std::int64_t second_ = 0;
    std::int64_t work_done_ = 0;
    std::uint32_t pool_ = 0;  // that is at work
    std::unique_ptr<StartForecast> forecast_;
};

}  // namespace gpuctl
