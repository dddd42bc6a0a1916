#pragma once
// The world of a replay at the level of jobs: arrivals, completions, and what a policy starts,
// stops and resizes, under a clock that jumps from event to event (docs/adr/0009).
//
// Pure, one owner, one thread. Events at the same time are handled together: completions first,
// then arrivals, then one call of the policy. The same trace, settings and policy give the same
// history.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/replay/places.hpp"
#include "sim/replay/progress.hpp"
#include "sim/replay/trace.hpp"

namespace gpuctl::replay {

class World;

class Policy {
public:
    virtual ~Policy() = default;
    // Called after events, and at the time that it returned last. Returns the time of the next call
    // if there are no events until then.
    virtual std::optional<Instant> decide(World& world) = 0;
};

struct WorldSettings {
    std::int32_t nodes = 1;
    std::int32_t gpus_per_node = 1;
    Placing placing = Placing::pooled;
    Overhead overhead = Overhead::clean;
    bool clairvoyant = false;  // the policy may read true run times
    bool elastic = false;      // jobs run on any size, by their curves
};

//            submit           start               end of its work
//   coming ---------> waiting -----> running ---------------------> done
//                        ^------------'  stop
enum class JobPhase : std::uint8_t { coming, waiting, running, done };

struct JobState {
    explicit JobState(Progress progress_of) : progress(progress_of) {}

    JobPhase phase = JobPhase::coming;
    Progress progress;
    Spread spread;          // while it runs
    std::int32_t gpus = 0;  // while it runs
    Instant started_at;     // start of the present run
    Instant first_start_at;
    Instant finished_at;
    std::int64_t starts = 0;
    std::int64_t preemptions = 0;  // before its end
    std::int64_t served_gpu_ms = 0;
    std::uint64_t arrangement = 0;  // the last arrange() that gave it GPUs
};

enum class Happening : std::uint8_t { submitted, started, stopped, resized, finished };

struct LogEntry {
    Instant at;
    JobIndex job;
    Happening what{};
};

class World {
public:
    static constexpr Instant kBegin{1'700'000'000'000};

    // `trace` must outlive the world.
    World(const Trace& trace, WorldSettings settings);

    // Runs to the end of the last job. An error if a job can never run, or if the policy leaves a
    // job waiting and nothing else can happen.
    std::optional<Error> run(Policy& policy);

    // --- facts that a policy may read ---
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] std::int64_t gpus_total() const { return places_.total(); }
    [[nodiscard]] std::int64_t gpus_free() const { return places_.free(); }
    [[nodiscard]] std::int64_t gpus_free_on(std::size_t node) const {
        return places_.free_on(node);
    }
    [[nodiscard]] std::size_t nodes() const { return places_.nodes(); }
    [[nodiscard]] const WorldSettings& settings() const { return settings_; }
    // Jobs 0 to arrived()-1 have been submitted.
    [[nodiscard]] std::uint32_t arrived() const { return arrived_; }
    [[nodiscard]] const TraceJob& job(JobIndex index) const { return trace_->job(index); }
    [[nodiscard]] const JobState& state(JobIndex index) const { return states_[index.value()]; }
    [[nodiscard]] const std::vector<JobIndex>& running() const { return running_; }
    [[nodiscard]] bool clairvoyant() const { return settings_.clairvoyant; }
    // True remaining time on this size; for clairvoyant policies only.
    [[nodiscard]] Duration remaining_work(JobIndex index, std::int32_t gpus) const;
    // The longest time that the job may run: its user's limit, or the true run time for a
    // clairvoyant policy.
    [[nodiscard]] Duration limit(JobIndex index) const;

    // --- actions of a policy ---
    // False, without any change, if it does not fit.
    bool start(JobIndex index, std::int32_t gpus);
    // Starts the job on exactly these GPUs, for a policy that tracks placements itself.
    bool start_on(JobIndex index, Spread spread);
    void stop(JobIndex index);
    // False, without any change, if it does not fit.
    bool resize(JobIndex index, std::int32_t gpus);
    // Places jobs as if the cluster were empty: in this order, on their own sizes, skipping jobs
    // that do not fit. It stops every running job that gets no GPUs. A running job that only
    // changes its node pays nothing, as in the simulators whose figures are used for calibration.
    void arrange(const std::vector<JobIndex>& order);

    // --- results ---
    [[nodiscard]] const Trace& trace() const { return *trace_; }
    [[nodiscard]] const std::vector<JobState>& states() const { return states_; }
    [[nodiscard]] const std::vector<LogEntry>& log() const { return log_; }
    [[nodiscard]] std::uint64_t decisions() const { return decisions_; }

private:
    [[nodiscard]] std::optional<Error> find_impossible() const;
    [[nodiscard]] Error stuck() const;
    [[nodiscard]] std::optional<Instant> next_event() const;
    [[nodiscard]] Instant submit_at(std::uint32_t index) const;
    void advance(Instant to);
    void arrive();
    void begin(JobIndex index, Spread spread, std::int32_t gpus);
    void halt(JobIndex index);
    JobState& at(JobIndex index) { return states_[index.value()]; }

    const Trace* trace_;
    WorldSettings settings_;
    Places places_;
    Instant now_ = kBegin;
    std::uint32_t arrived_ = 0;
    std::uint32_t done_ = 0;
    std::vector<JobState> states_;
    std::vector<JobIndex> running_;
    std::vector<LogEntry> log_;
    std::uint64_t decisions_ = 0;
    std::uint64_t arrangement_ = 0;
};

}  // namespace gpuctl::replay
