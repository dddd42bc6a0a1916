#pragma once
// The computation behind estimate_starts(). It reads the line of waiting jobs of a pool and its
// running work once, and simulates the line. It can be done in pieces, between which the state may
// change: what was read is not updated, and objects that are gone by then are left out.
//
//   nodes ─> line ─> late ─> median ─> early ─> passing ─> answers
//
// Lifecycle: made for one pool, advanced until it is done, read, destroyed. Amounts of work are in
// units of about 100 ns.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/plan/estimate/run_pace.hpp"
#include "scheduler/plan/estimate/start_estimate.hpp"
#include "scheduler/plan/estimate/start_limits.hpp"

namespace gpuctl {

class StartForecast {
public:
    // `line`: the waiting jobs of the pool, the next one first. They must exist.
    StartForecast(const ClusterState& state, PoolId pool, std::vector<JobId> line);

    // Does at least one step and about this amount of work. True: the forecast is complete.
    bool advance(const ClusterState& state, std::int64_t work);
    [[nodiscard]] std::int64_t work_done() const { return work_done_; }
    // The approximate total work.
    [[nodiscard]] static std::int64_t work_of(const ClusterState& state, PoolId pool,
                                              std::size_t line);

    struct Answer {
        JobId job;
        std::uint64_t arrival = 0;  // of the job when it was read
        StartEstimate start;
    };
    [[nodiscard]] const std::vector<Answer>& answers() const { return answers_; }

private:
    enum class Phase : std::uint8_t { nodes, line, late, median, early, passing, answers, done };

    // A waiting job that the forecast can start.
    struct Waiting {
        JobId id;
        std::uint64_t arrival = 0;
        std::int64_t gpus = 0;  // GPUs of its waiting pods
        Stay stay;
        Reason refusal = Reason::none;
        Duration median;  // run time; 0: unknown
        Duration limit;
        LimitHit hit;            // the limit that blocks it, if one does
        std::int64_t ahead = 0;  // what the jobs before it need of its budget
        Instant at[3];           // by Pace: its start in the simulated line
        Instant passes;          // start that does not delay the head-of-line reservation
    };

    // GPUs that are released, in thousandths, on nodes in the same windows. Without GPUs: a window
    // ends.
    struct Release {
        Instant at;
        std::int64_t gpus = 0;
        std::size_t group = 0;
        friend bool operator>(const Release& a, const Release& b) { return a.at > b.at; }
    };
    // Runs of releases, each sorted.
    using Runs = std::vector<std::vector<Release>>;
    class Merged;
    // The simulation of the line at one pace.
    struct Service;

    // The run-time prediction of a job with pods. It is computed once for all jobs with equal
    // questions.
    struct Outlook {
        RunTimeQuestion about;
        RunTimePrediction prediction;
    };
    const Outlook& outlook_of(const ClusterState& state, JobId job);

    bool read_nodes(const ClusterState& state, std::int64_t& work);
    void read_node(const ClusterState& state, std::uint32_t slot);
    void add_releases(std::vector<std::pair<Instant, RunningPod*>>& ends, std::int64_t excess,
                      Pace pace);
    void close_runs();
    bool read_line(const ClusterState& state, std::int64_t& work);
    void read_job(const ClusterState& state, JobId id);
    void add_budgets_ahead(const ClusterState& state, const JobRow& job, Waiting& waiting);
    bool serve(const ClusterState& state, Pace pace, std::int64_t& work);
    bool serve_passing(const ClusterState& state, std::int64_t& work);
    bool serve_alone(const ClusterState& state, std::int64_t& work);
    bool answer(const ClusterState& state, std::int64_t& work);
    void answer(const ClusterState& state, const Waiting& waiting);
    void heed_budgets(const ClusterState& state, const Waiting& waiting, StartEstimate& estimate);
    StartEstimate believable(const ClusterState& state, const Waiting& waiting,
                             StartEstimate estimate);

    std::size_t group_of(WindowSet windows);
    // GPUs on nodes that are open to the job from `at` on for its whole run time.
    [[nodiscard]] std::int64_t usable(const ClusterState& state,
                                      const std::vector<std::int64_t>& free, const Stay& stay,
                                      Instant at) const;

    PoolId pool_;
    Instant now_;
    Phase phase_ = Phase::nodes;
    std::int64_t work_done_ = 0;
    std::vector<JobId> line_;
    std::vector<std::uint64_t> arrivals_;  // of the jobs in line_
    std::size_t next_ = 0;                 // position in the current phase
    bool has_windows_ = false;

    std::vector<WindowSet> groups_ = {0};
    std::vector<std::int64_t> free_ = {0};  // by group
    Runs runs_[3];                          // by Pace
    std::vector<Release> openings_;
    StartLimits limits_;
    std::vector<Waiting> waiting_;
    std::map<const Budget*, std::int64_t> ahead_;
    std::vector<std::uint32_t> outlook_of_;  // by JobId, index + 1; 0: not yet
    std::vector<Outlook> outlooks_;
    std::map<std::tuple<TenantId, GpuMilli, Duration, Duration>, std::uint32_t> alike_;
    std::optional<HeadReservation> head_;  // the head of the line, if it has a reserved time
    std::shared_ptr<Service> service_;
    // GPUs released until then, in total, at the early pace and in one group
    std::vector<std::pair<Instant, std::int64_t>> freed_;
    std::map<std::tuple<std::int64_t, Duration, Duration, Drain, WindowSet>, Instant> alone_;
    std::vector<Answer> answers_;
};

}  // namespace gpuctl
