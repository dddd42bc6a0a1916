#pragma once
// Run times of past jobs by owner: the last kRunsPerOwner of each of the kOwnersMax owners whose
// jobs ended last. A prediction is a band of order statistics of the newest similar runs, never a
// fitted model: it can be checked by hand.
//
// Part of the state's image. Owner: ClusterState.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

struct FinishedRun {
    GpuMilli gpus;    // of the whole job
    Duration limit;   // the enforced limit; 0: none
    Duration lasted;  // > 0
    friend auto operator<=>(const FinishedRun&, const FinishedRun&) = default;
};
BOOST_DESCRIBE_STRUCT(FinishedRun, (), (gpus, limit, lasted))

// A job that has not run, for which a run time is predicted.
struct RunTimeQuestion {
    TenantId owner;
    GpuMilli gpus;
    Duration limit;     // 0: none
    Duration expected;  // stated by its user; 0: unknown
};

enum class RunTimeBasis : std::uint8_t {
    nothing,     // no limit, no stated run time, no history
    limit,       // only its limit is known
    user,        // its user stated a run time
    owner_runs,  // any jobs of the owner
    same_size,   // jobs with the same number of GPUs
    same_job     // jobs with the same number of GPUs and the same limit
};

// Whether a run is as similar to the job in question as the basis requires.
[[nodiscard]] inline bool is_alike(RunTimeBasis basis, const RunTimeQuestion& about, GpuMilli gpus,
                                   Duration limit) {
    if (basis != RunTimeBasis::same_size && basis != RunTimeBasis::same_job) return true;
    return gpus == about.gpus && (basis == RunTimeBasis::same_size || limit == about.limit);
}

struct RunTimePrediction {
    // Nine of ten jobs run for `low` at least, and nine of ten for `high` at most; 0: unknown.
    // These are order statistics of n similar runs, which guarantee this for any distribution. So
    // few runs give a wide band: below nine runs, `high` is the limit and `low` is 0.
    Duration low;
    Duration likely;  // the median, or the run time that the user states
    Duration high;
    std::int64_t runs = 0;  // the number of similar runs in use
    RunTimeBasis basis = RunTimeBasis::nothing;
};

struct OwnerRuns {
    std::string owner;
    std::uint64_t noted = 0;        // the number of all runs recorded when its last one ended
    std::vector<FinishedRun> runs;  // oldest first
};
BOOST_DESCRIBE_STRUCT(OwnerRuns, (), (owner, noted, runs))

class RunTimeHistory {
public:
    static constexpr std::size_t kRunsPerOwner = 256;
    static constexpr std::size_t kRunsPredictedBy = 64;  // of these, the newest: habits change
    static constexpr std::size_t kOwnersMax = 4'096;

    void add_run(TenantId owner, FinishedRun run);
    [[nodiscard]] RunTimePrediction predict(const RunTimeQuestion& about) const;
    // The most similar of the newest kRunsPredictedBy runs, newest first, `most` at most, into
    // `out`.
    RunTimeBasis alike(const RunTimeQuestion& about, std::size_t most,
                       std::vector<Duration>& out) const;
    // Of all recorded runs: the most similar, if there are `enough`, otherwise all.
    RunTimeBasis sample(const RunTimeQuestion& about, std::size_t enough,
                        std::vector<Duration>& out) const;
    // Changes when predictions for this owner's jobs may change. Not in the image.
    [[nodiscard]] std::uint64_t revision(TenantId owner) const {
        return owner.value() < revisions_.size() ? revisions_[owner.value()] : 0;
    }
    // The progress of the owner's unfinished jobs has changed.
    void touch(TenantId owner);

    // For images: owners with runs, in no order; `restore` adds one of them.
    struct Kept {
        std::uint64_t noted = 0;
        std::vector<FinishedRun> runs;
    };
    [[nodiscard]] const std::vector<Kept>& owners() const { return owners_; }
    void restore(TenantId owner, Kept kept);

private:
    struct Choice {
        std::size_t among;   // the newest
        std::size_t most;    // the largest number of runs
        std::size_t enough;  // the number of runs that is enough
    };
    RunTimeBasis choose(const RunTimeQuestion& about, Choice by, std::vector<Duration>& out) const;
    void forget_longest_ago();

    std::vector<Kept> owners_;              // by TenantId
    std::vector<std::uint64_t> revisions_;  // likewise
    std::size_t owners_known_ = 0;
    std::uint64_t noted_ = 0;
};

}  // namespace gpuctl
