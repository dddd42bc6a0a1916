#include "scheduler/whatif/question.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuctl::whatif {
namespace {

constexpr std::size_t kNamedMost = 4;  // of the preempted jobs

}  // namespace

Question::Question(std::string_view exported, ObjectKey job, Instant now, GoOn go_on)
    : key_(std::move(job)), now_(now), go_on_(std::move(go_on)) {
    Result<Trial> base = Trial::of(exported, now);
    if (!base) return;
    base->happen(WokeUp{});  // advances the clock to now: running work has made progress
    base->settle();
    base_.emplace(std::move(*base));
    settled_ = base_->exported();
    id_ = base_->state().jobs.find_job(key_);
    if (id_.exists()) missing_ = missing(base_->state());
}

// The number of missing ranks of a gang, or of waiting pods of any other job.
std::int64_t Question::missing(const ClusterState& state) const {
    const JobId id = state.jobs.find_job(key_);
    if (!id.exists()) return 0;
    const JobRow& row = state.job(id);
    std::int64_t waiting = 0;
    const GangSize size = state.gangs.gang_of(row).value_or(GangSize{});
    GangTally held{size};
    for (const PodId pod_id : row.pods) {
        const PodRow& pod = state.pod(pod_id);
        if (pod.facts.terminating) continue;
        if (pod.bind.state == BindState::waiting) {
            ++waiting;
        } else if (pod.bind.state != BindState::done || pod.facts.phase == PodPhase::succeeded) {
            held.add(pod.facts.role);
        }
    }
    return size.ranks > 0 ? std::clamp<std::int64_t>(held.missing(), 0, waiting) : waiting;
}

const PodFacts* Question::first_waiting() const {
    for (const PodId id : job().pods) {
        const PodRow& pod = base_->state().pod(id);
        if (pod.bind.state == BindState::waiting) return &pod.facts;
    }
    return nullptr;
}

bool Question::is_refused() const {
    const std::vector<PodId>& pods = job().pods;
    return std::any_of(pods.begin(), pods.end(), [this](PodId id) {
        return base_->state().pod(id).bind.bar == PodBar::refused;
    });
}

std::optional<Trial> Question::begin_trial() {
    ended_early_ = ended_early_ || trials_left_ <= 0 || (go_on_ && !go_on_());
    if (ended_early_) return std::nullopt;
    --trials_left_;
    ++looked_;
    Result<Trial> trial = Trial::of(settled_, now_);
    if (!trial) return std::nullopt;
    return std::move(*trial);
}

bool Question::moves_on(const Trial& trial) const {
    if (!trial.state().jobs.find_job(key_).exists()) return false;
    const std::vector<EvictedPod>& evicted = trial.evicted();
    const bool is_evicted = std::any_of(evicted.begin(), evicted.end(),
                                        [this](const EvictedPod& pod) { return pod.job == key_; });
    if (is_evicted) return false;  // it started, and was evicted again or lost capacity
    const std::int64_t left = missing(trial.state());
    const bool is_gang = base_->state().gangs.gang_size(job()).value_or(0) > 0;
    return is_gang ? left == 0 : left < missing_;
}

bool Question::helps(const Change& change) { return helps(Ways{change}); }

bool Question::helps(const Ways& ways) {
    std::vector<std::vector<EvictedJob>> stops;
    std::int64_t started = missing_;
    for (const Change& change : ways) {
        std::optional<Trial> trial = begin_trial();
        if (!trial) return false;
        change(*trial);
        trial->settle();
        if (!moves_on(*trial)) return false;
        started = std::min(started, missing_ - missing(trial->state()));
        stops.push_back(by_job(trial->evicted()));
    }
    started_ = started;
    stops_ = in_any_way(stops);
    return true;
}

ChangeEffect Question::effect_of(ChangeFact change) const {
    ChangeEffect out;
    out.change = std::move(change);
    out.pods_waiting = missing_;
    out.pods_started = started_;
    return out;
}

bool Question::waits_whole() const {
    const std::vector<PodId>& pods = job().pods;
    return std::all_of(pods.begin(), pods.end(), [this](PodId id) {
        return base_->state().pod(id).bind.state == BindState::waiting;
    });
}

std::optional<std::int64_t> smallest(std::int64_t low, std::int64_t high,
                                     const std::function<bool(std::int64_t)>& helps_with) {
    if (low > high || !helps_with(high)) return std::nullopt;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (helps_with(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

Remedy with_stops(const Question& question, Remedy remedy) {
    remedy.stops = question.stops();
    remedy.facts.preempts_total = std::ssize(remedy.stops);
    for (const EvictedJob& job : remedy.stops) {
        if (remedy.facts.preempts.size() == kNamedMost) break;
        remedy.facts.preempts.push_back({job.key, job.gpus, job.at_most, job.goes_on});
    }
    return remedy;
}

namespace {

// The owner of the job withdraws the waiting pods.
void withdraw(Trial& trial, const ObjectKey& job, const std::vector<PodFacts>& pods) {
    trial.happen(JobDeleteRequested{job, false});
    for (const PodFacts& pod : pods) trial.happen(PodRemoved{pod.uid});
    trial.settle();  // other jobs use what was reserved for the job
}

}  // namespace

Change recreate(const Question& question, const Rewrite& rewrite) {
    std::vector<PodFacts> before;
    std::vector<PodFacts> after;
    for (const PodId id : question.job().pods) {
        const PodRow& pod = question.state()->pod(id);
        if (pod.bind.state != BindState::waiting) continue;
        before.push_back(pod.facts);
        if (after.size() >= rewrite.pods_most) continue;
        after.push_back(pod.facts);
        rewrite.pod(after.back());
    }
    Boxed<JobRecord> record = question.job().record;
    if (record) rewrite.spec(record->spec);
    const bool is_whole = question.waits_whole();
    return [=, key = question.job().key](Trial& trial) {
        if (is_whole) withdraw(trial, key, before);
        const Instant now = trial.state().now();
        if (is_whole && record) {
            JobRecord again = *record;
            again.uid += "/again";
            again.submitted_at = now;
            trial.happen(JobSubmitted{std::move(again)});
        }
        for (PodFacts pod : after) {
            if (is_whole) pod.uid += "/again";
            if (is_whole) pod.created_at = now;
            trial.happen(PodObserved{std::move(pod)});
        }
    };
}

namespace {

// No change that is tried here provides a missing feature, or ranks that do not exist.
bool may_help(ChangeKind kind, const ClusterState& state, JobId job) {
    Readiness ready;
    state.waiting.read_readiness(job, ready);
    switch (ready.hold) {
        case Reason::unsupported_feature:
            return kind == ChangeKind::other_pool;  // a pool with nodes that count the resource
        case Reason::gang_incomplete:
        case Reason::gang_size_unknown:
        case Reason::gated:
            return false;
        default:
            return true;
    }
}

struct Attempt {
    ChangeKind kind;
    std::optional<Remedy> (*search)(Question&);
};
constexpr Attempt kAttempts[] = {
    {ChangeKind::fewer_gpus, try_fewer_gpus},
    {ChangeKind::fewer_ranks, try_fewer_ranks},
    {ChangeKind::shorter_run_time, try_shorter_run_time},
    {ChangeKind::other_queue, try_other_queue},
    {ChangeKind::other_pool, try_other_pool},
    {ChangeKind::higher_limits, try_higher_limits},
    {ChangeKind::jobs_move, try_jobs_move},
    {ChangeKind::job_ends, try_job_ends},
    {ChangeKind::more_nodes, try_more_nodes},
    {ChangeKind::two_changes, try_two_changes},
};

}  // namespace

Result<Remedies> find_remedies(std::string_view exported, const ObjectKey& job, Instant now,
                               GoOn go_on) {
    Question question{exported, job, now, std::move(go_on)};
    if (question.state() == nullptr) {
        return make_error(ErrorCode::JournalDamaged,
                          "copy the engine for a trial: the bytes are not a state");
    }
    Remedies out;
    if (!question.waits() || question.is_refused()) return out;
    for (const Attempt& attempt : kAttempts) {
        if (question.ended_early()) break;
        if (attempt.kind == ChangeKind::two_changes && !out.found.empty()) break;
        if (!may_help(attempt.kind, *question.state(), question.id())) continue;
        const int looked_before = question.looked();
        std::optional<Remedy> found = attempt.search(question);
        if (question.looked() > looked_before) out.tried.push_back(attempt.kind);
        if (found) out.found.push_back(std::move(*found));
    }
    out.ended_early = question.ended_early();
    return out;
}

}  // namespace gpuctl::whatif
