#pragma once
// A waiting job in a frozen world, and whether a change would let it start. Private to whatif/.

#include <functional>
#include <optional>

#include "scheduler/whatif/remedies.hpp"
#include "scheduler/whatif/trial.hpp"

namespace gpuctl::whatif {

using Change = std::function<void(Trial&)>;

class Question {
public:
    Question(std::string_view exported, ObjectKey job, Instant now);

    // The world before any change, with everything placed that can be. None: the bytes are no
    // state.
    [[nodiscard]] const ClusterState* state() const { return base_ ? &base_->state() : nullptr; }
    [[nodiscard]] const JobRow& job() const { return base_->state().job(id_); }
    [[nodiscard]] JobId id() const { return id_; }
    [[nodiscard]] bool waits() const { return base_ && id_.exists() && missing_ > 0; }
    // By the cluster: a right or a policy forbids the bind of one of its pods, and whether it would
    // elsewhere, no copy of the engine can know.
    [[nodiscard]] bool is_refused() const;

    // Lives the change in a copy and looks whether the job moves on. False as well when the trials
    // are used up.
    bool helps(const Change& change);
    // "it would start now", or "1 of its 3 pods would start now": as the last change that helped.
    [[nodiscard]] std::string would_start() const;
    // Nothing of it runs or is being bound: it could be another job altogether.
    [[nodiscard]] bool waits_whole() const;
    // A copy to live more than one change in; none: the trials are used up.
    std::optional<Trial> begin_trial();
    // In a copy: does the job start, a gang as a whole, any one pod of the others?
    [[nodiscard]] bool moves_on(const ClusterState& state) const;
    // The smallest amount in [low, high] that helps, if `high` does and more never helps less.
    std::optional<std::int64_t> smallest(std::int64_t low, std::int64_t high,
                                         const std::function<Change(std::int64_t)>& of);

private:
    [[nodiscard]] std::int64_t missing(const ClusterState& state) const;

    std::string settled_;  // exported state of base_
    ObjectKey key_;
    Instant now_;
    std::optional<Trial> base_;
    JobId id_;
    std::int64_t missing_ = 0;
    std::int64_t started_ = 0;  // by the last change that helped
    int trials_left_ = 200;
};

// What its owner does to a job: there is no way to change one that was made.
struct Rewrite {
    std::function<void(PodFacts&)> pod;
    std::function<void(JobSpec&)> spec = [](JobSpec&) {};  // of what was submitted through us
    std::size_t pods_most = kRanksMaximum;                 // those behind so many are left out
};
// The job is deleted and, once that has had its effect on others, made anew: last in line. One of
// which something runs stays, and its waiting pods are changed where they are, as a controller
// does.
Change make_anew(const Question& question, const Rewrite& rewrite);

// The policy in which none of the limits that are in the job's way now would be; none: nothing of
// the kind is.
struct RaisedLimits {
    Policy policy;
    std::string said;
};
std::optional<RaisedLimits> raise_limits(const ClusterState& state, JobId job);

// One searcher per kind of change.
std::optional<Remedy> try_fewer_gpus(Question& question);
std::optional<Remedy> try_fewer_ranks(Question& question);
std::optional<Remedy> try_shorter_run_time(Question& question);
std::optional<Remedy> try_other_queue(Question& question);
std::optional<Remedy> try_other_pool(Question& question);
std::optional<Remedy> try_higher_limits(Question& question);
std::optional<Remedy> try_jobs_move(Question& question);
std::optional<Remedy> try_job_ends(Question& question);
std::optional<Remedy> try_more_nodes(Question& question);

}  // namespace gpuctl::whatif
