#pragma once
// A waiting job in a frozen state, and whether a change would let the job start. Private to
// whatif/.

#include <functional>
#include <limits>
#include <optional>

#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/whatif/remedies.hpp"
#include "scheduler/whatif/trial.hpp"

namespace gpuctl::whatif {

using Change = std::function<void(Trial&)>;
// All ways in which a change may be carried out: for example, pods end one after the other or at
// once.
using Ways = std::vector<Change>;

class Question {
public:
    Question(std::string_view exported, ObjectKey job, Instant now, GoOn go_on);

    // The state before any change, after everything that can be placed was placed. Null: the bytes
    // are no state.
    [[nodiscard]] const ClusterState* state() const { return base_ ? &base_->state() : nullptr; }
    [[nodiscard]] const JobRow& job() const { return base_->state().job(id_); }
    [[nodiscard]] JobId id() const { return id_; }
    [[nodiscard]] const PodFacts* first_waiting() const;  // of the job
    [[nodiscard]] bool waits() const { return base_ && id_.exists() && missing_ > 0; }
    // True if the cluster refused the bind of one of the job's pods by a permission or a policy. No
    // copy of the engine can know whether another bind would be accepted.
    [[nodiscard]] bool is_refused() const;

    // Simulates the change in a copy and checks whether the job makes progress. Also false if the
    // search is to end.
    bool helps(const Change& change);
    // True if the change helps in all ways.
    bool helps(const Ways& ways);
    // Jobs that the last change that helped would stop, over all its ways.
    [[nodiscard]] const std::vector<EvictedJob>& stops() const { return stops_; }
    // Its facts.
    [[nodiscard]] ChangeEffect effect_of(ChangeFact change) const;
    // True if none of its pods runs or is being bound: the job could be replaced by another job.
    [[nodiscard]] bool waits_whole() const;
    // The number of trials and of searches so far.
    [[nodiscard]] int looked() const { return looked_; }
    void note_look() { ++looked_; }
    // A copy of the state for a sequence of changes; none: the search is to end.
    std::optional<Trial> begin_trial();
    // True if something was not tried because the limit of trials or time was reached.
    [[nodiscard]] bool ended_early() const { return ended_early_; }
    // True if the job starts in the copy (a gang completely, any other job with any one pod), and
    // none of its pods is evicted.
    [[nodiscard]] bool moves_on(const Trial& trial) const;

private:
    [[nodiscard]] std::int64_t missing(const ClusterState& state) const;

    std::string settled_;  // exported state of base_
    ObjectKey key_;
    Instant now_;
    std::optional<Trial> base_;
    JobId id_;
    std::int64_t missing_ = 0;
    std::int64_t started_ = 0;  // pods that start with the last change that helped
    std::vector<EvictedJob> stops_;
    GoOn go_on_;
    int trials_left_ = 200;
    bool ended_early_ = false;
    int looked_ = 0;
};

// The smallest amount in [low, high] that helps, if `high` helps and a larger amount never helps
// less. Otherwise the result is an amount that helps while one less does not. The last amount that
// is tried and helps is the result.
std::optional<std::int64_t> smallest(std::int64_t low, std::int64_t high,
                                     const std::function<bool(std::int64_t)>& helps_with);
// Adds the evictions of the last change that helped to the remedy.
Remedy with_stops(const Question& question, Remedy remedy);

// A change of a job by its owner. A submitted job cannot be changed, so it is replaced.
struct Rewrite {
    std::function<void(PodFacts&)> pod;
    std::function<void(JobSpec&)> spec = [](JobSpec&) {};  // applied to a submitted job
    std::size_t pods_most = kRanksMaximum;                 // further pods are dropped
};
// Deletes the job and, once the deletion has had its effect on other jobs, submits it again, so
// that it is last in line. A job with running pods stays, and its waiting pods are changed in
// place, as a controller does.
Change recreate(const Question& question, const Rewrite& rewrite);

// A limit that the job would exceed if it started now, and how far the limit could be raised.
// Amounts are rounded as in reports, so that a configuration can state them.
struct LimitInWay {
    LimitHit hit;
    std::int64_t least = 0;   // this amount admits the job if no other job comes
    std::int64_t unit = 1;    // the limit is raised further in steps of this amount
    std::int64_t levels = 0;  // this many steps admit every other job that waits under the limit
    std::int64_t lowest = 0;  // the lowest level; negative if other jobs may be evicted
    // True if the limit is for a GPU model: the job may find room under the limit of another model.
    [[nodiscard]] bool may_stay() const {
        return limit_row(hit.kind).scope == LimitScope::queue_model;
    }
};
// A level for each limit: level 0 is its `least` amount, and each level is one unit more. Levels
// are negative if other jobs are evicted or another change reduces usage; kNotRaised: unchanged.
using Levels = std::vector<std::int64_t>;
inline constexpr std::int64_t kNotRaised = std::numeric_limits<std::int64_t>::min();

// The limits that block the job, without limits that cannot be raised: those of the job's own queue
// first, then upwards.
std::vector<LimitInWay> limits_in_way(const ClusterState& state, JobId job);
struct RaisedLimits {
    Policy policy;
    std::vector<change::RaisedLimit> limits;  // without those that the policy does not set
};
RaisedLimits raise(const ClusterState& state, JobId job, const std::vector<LimitInWay>& limits,
                   const Levels& levels);

// The search for each kind of change.
std::optional<Remedy> try_fewer_gpus(Question& question);
std::optional<Remedy> try_fewer_ranks(Question& question);
std::optional<Remedy> try_shorter_run_time(Question& question);
std::optional<Remedy> try_other_queue(Question& question);
std::optional<Remedy> try_other_pool(Question& question);
std::optional<Remedy> try_higher_limits(Question& question);
std::optional<Remedy> try_jobs_move(Question& question);
std::optional<Remedy> try_job_ends(Question& question);
std::optional<Remedy> try_more_nodes(Question& question);
std::optional<Remedy> try_two_changes(Question& question);
// Another change that is applied together with the change that is searched; both orders are tried.
struct OtherChange {
    Change change;
    std::vector<change::RaisedLimit> limits;  // that it raises
};
// `only`: the job to end, "namespace/name"; empty: the smallest job that helps.
std::optional<Remedy> try_job_ends(Question& question, const OtherChange& other_change,
                                   const std::string& only = "");
// A change that ends the job of that name at once. None: the job holds nothing in the pool.
std::optional<Change> end_of(const Question& question, const std::string& name);
std::optional<Remedy> try_more_nodes(Question& question, const OtherChange& other_change);

}  // namespace gpuctl::whatif
