#pragma once
// How long the jobs of each owner ran: the last kRunsPerOwner of each, of the kOwnersMax owners
// whose jobs ended last. What is predicted from it is a band of order statistics of the newest runs
// that were alike, never a fitted model: it can be recounted by hand.
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
    Duration limit;   // its hard one; 0: none
    Duration lasted;  // > 0
    friend auto operator<=>(const FinishedRun&, const FinishedRun&) = default;
};
BOOST_DESCRIBE_STRUCT(FinishedRun, (), (gpus, limit, lasted))

// What is asked about: a job that has not run.
struct RunTimeQuestion {
    TenantId owner;
    GpuMilli gpus;
    Duration limit;     // 0: none
    Duration expected;  // by its user; 0: not said
};

enum class RunTimeBasis : std::uint8_t {
    nothing,     // no limit, no word of its user, no history
    limit,       // nothing but its limit is known
    user,        // its user says so
    owner_runs,  // any jobs of the owner
    same_size,   // those of as many GPUs
    same_job     // those of as many GPUs with the same limit
};

// Whether a run is as similar to the job in question as the basis requires.
[[nodiscard]] inline bool is_alike(RunTimeBasis basis, const RunTimeQuestion& about, GpuMilli gpus,
                                   Duration limit) {
    if (basis != RunTimeBasis::same_size && basis != RunTimeBasis::same_job) return true;
    return gpus == about.gpus && (basis == RunTimeBasis::same_size || limit == about.limit);
}

struct RunTimePrediction {
    // Nine of ten jobs are to last at least `low`, nine of ten at most `high`; 0: cannot be said.
    // Of n runs alike these are the order statistics that guarantee it for any distribution, so
    // that few runs give a wide band: below nine of them `high` is the limit and `low` is 0.
    Duration low;
    Duration likely;  // the median; what its user says wins
    Duration high;
    std::int64_t runs = 0;  // alike, that this was made of
    RunTimeBasis basis = RunTimeBasis::nothing;
};

struct OwnerRuns {
    std::string owner;
    std::uint64_t noted = 0;        // when its last one ended, in runs noted altogether
    std::vector<FinishedRun> runs;  // oldest first
};
BOOST_DESCRIBE_STRUCT(OwnerRuns, (), (owner, noted, runs))

class RunTimeHistory {
public:
    static constexpr std::size_t kRunsPerOwner = 256;
    static constexpr std::size_t kRunsPredictedBy = 64;  // of them, the newest: habits change
    static constexpr std::size_t kOwnersMax = 4'096;

    void add_run(TenantId owner, FinishedRun run);
    [[nodiscard]] RunTimePrediction predict(const RunTimeQuestion& about) const;
    // Of the newest kRunsPredictedBy those that are most alike, newest first, at most `most`, into
    // `out`.
    RunTimeBasis alike(const RunTimeQuestion& about, std::size_t most,
                       std::vector<Duration>& out) const;
    // Of all that are kept: those that are most alike if there are `enough` of them, else all.
    RunTimeBasis sample(const RunTimeQuestion& about, std::size_t enough,
                        std::vector<Duration>& out) const;
    // Moves whenever what can be said of this owner's jobs may. No part of the image.
    [[nodiscard]] std::uint64_t revision(TenantId owner) const {
        return owner.value() < revisions_.size() ? revisions_[owner.value()] : 0;
    }
    // What its unfinished jobs have done is another.
    void touch(TenantId owner);

    // For images: owners with runs, as noted, in no order; `restore` takes one back.
    struct Kept {
        std::uint64_t noted = 0;
        std::vector<FinishedRun> runs;
    };
    [[nodiscard]] const std::vector<Kept>& owners() const { return owners_; }
    void restore(TenantId owner, Kept kept);

private:
    struct Choice {
        std::size_t among;   // the newest
        std::size_t most;    // of them
        std::size_t enough;  // to be content with
    };
    RunTimeBasis choose(const RunTimeQuestion& about, Choice by, std::vector<Duration>& out) const;
    void forget_longest_ago();

    std::vector<Kept> owners_;              // by TenantId
    std::vector<std::uint64_t> revisions_;  // likewise
    std::size_t owners_known_ = 0;
    std::uint64_t noted_ = 0;
};

}  // namespace gpuctl
