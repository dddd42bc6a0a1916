#pragma once
// A waiting job in a frozen world, and whether a change would let it start. Private to whatif/.

#include <functional>
#include <limits>
#include <optional>

#include "scheduler/whatif/remedies.hpp"
#include "scheduler/whatif/trial.hpp"

namespace gpuctl::whatif {

using Change = std::function<void(Trial&)>;
// Of what people may do in more than one way, all of them: pods end one after the other or at once.
using Ways = std::vector<Change>;

class Question {
public:
    Question(std::string_view exported, ObjectKey job, Instant now, GoOn go_on);

    // The world before any change, with everything placed that can be. None: the bytes are no
    // state.
    [[nodiscard]] const ClusterState* state() const { return base_ ? &base_->state() : nullptr; }
    [[nodiscard]] const JobRow& job() const { return base_->state().job(id_); }
    [[nodiscard]] JobId id() const { return id_; }
    [[nodiscard]] const PodFacts* first_waiting() const;  // of its pods
    [[nodiscard]] bool waits() const { return base_ && id_.exists() && missing_ > 0; }
    // By the cluster: a right or a policy forbids the bind of one of its pods, and whether it would
    // elsewhere, no copy of the engine can know.
    [[nodiscard]] bool is_refused() const;

    // Lives the change in a copy and looks whether the job moves on. False as well when the search
    // is to end.
    bool helps(const Change& change);
    // Whichever way it is done.
    bool helps(const Ways& ways);
    // "it would start", or "1 of its 3 waiting pods would start": as the last change that helped.
    [[nodiscard]] std::string would_start() const;
    // By the last change that helped, in any of its ways.
    [[nodiscard]] const std::vector<StoppedJob>& stops() const { return stops_; }
    // Nothing of it runs or is being bound: it could be another job altogether.
    [[nodiscard]] bool waits_whole() const;
    // How often something was tried, or looked for on the columns.
    [[nodiscard]] int looked() const { return looked_; }
    void note_look() { ++looked_; }
    // A copy to live more than one change in; none: the search is to end.
    std::optional<Trial> begin_trial();
    // Something was left untried, as trials or time were used up.
    [[nodiscard]] bool ended_early() const { return ended_early_; }
    // In a copy: does the job start, a gang as a whole, any one pod of the others, and is none of
    // it stopped for others?
    [[nodiscard]] bool moves_on(const Trial& trial) const;

private:
    [[nodiscard]] std::int64_t missing(const ClusterState& state) const;

    std::string settled_;  // exported state of base_
    ObjectKey key_;
    Instant now_;
    std::optional<Trial> base_;
    JobId id_;
    std::int64_t missing_ = 0;
    std::int64_t started_ = 0;  // by the last change that helped
    std::vector<StoppedJob> stops_;
    GoOn go_on_;
    int trials_left_ = 200;
    bool ended_early_ = false;
    int looked_ = 0;
};

// The smallest amount in [low, high] that helps, if `high` does and more never helps less; at any
// rate one that does while one less does not. The last that is tried and helps is the one returned.
std::optional<std::int64_t> smallest(std::int64_t low, std::int64_t high,
                                     const std::function<bool(std::int64_t)>& helps_with);
// As found by the last change that helped: with whom that stops.
Remedy with_stops(const Question& question, Remedy remedy);
// "1 GPU", "0.5 GPUs".
std::string gpus_text(GpuMilli gpus);

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

// A limit that a job would cross if it started now, and how far one would raise it. Amounts are as
// people are told them, and such as a configuration can hold.
struct LimitInWay {
    LimitHit hit;
    std::int64_t least = 0;   // lets it in if nobody else comes
    std::int64_t unit = 1;    // raised further by whole ones of these
    std::int64_t levels = 0;  // so many more let everybody else in who waits under it
    std::int64_t lowest = 0;  // the least level above the limit; below 0 where others may give way
    // Of one GPU model of several there may be room under another.
    [[nodiscard]] bool may_stay() const { return hit.kind == LimitKind::queue_model_maximum; }
};
// By limit: 0 is its least amount, each one more a unit more, and less where others give way or
// another change lets less be held; kNotRaised: it stays as it is.
using Levels = std::vector<std::int64_t>;
inline constexpr std::int64_t kNotRaised = std::numeric_limits<std::int64_t>::min();

// The job's own queue's first, then upwards; without those that nobody would raise.
std::vector<LimitInWay> limits_in_way(const ClusterState& state, JobId job);
struct RaisedLimits {
    Policy policy;
    std::string said;  // "the maximum of queue dev were 8 GPUs instead of 4"
};
RaisedLimits raise(const ClusterState& state, JobId job, const std::vector<LimitInWay>& limits,
                   const Levels& levels);

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
std::optional<Remedy> try_two_changes(Question& question);
// The same beside another change, for one of two parts: whichever of the two comes first.
struct Beside {
    Change change;
    std::string said;  // "the maximum of queue dev were 8 GPUs instead of 4"
};
// `only`: of that job, "namespace/name"; empty: of the smallest that helps.
std::optional<Remedy> try_job_ends(Question& question, const Beside& beside,
                                   const std::string& only = "");
// The job of that name is gone, all at once. None: it holds nothing in the pool.
std::optional<Change> end_of(const Question& question, const std::string& name);
std::optional<Remedy> try_more_nodes(Question& question, const Beside& beside);

}  // namespace gpuctl::whatif
