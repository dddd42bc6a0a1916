#include "scheduler/whatif/question.hpp"

#include <algorithm>

namespace gpuctl::whatif {

Question::Question(std::string_view exported, ObjectKey job, Instant now)
    : key_(std::move(job)), now_(now) {
    Result<Trial> base = Trial::of(exported, now);
    if (!base) return;
    base->happen(WokeUp{});  // its clock stood since its last input: what runs has done more by now
    base->settle();
    base_.emplace(std::move(*base));
    settled_ = base_->exported();
    id_ = base_->state().find_job(key_);
    if (id_.exists()) missing_ = missing(base_->state());
}

// Ranks that a gang still lacks to run as a whole; waiting pods of any other job.
std::int64_t Question::missing(const ClusterState& state) const {
    const JobId id = state.find_job(key_);
    if (!id.exists()) return 0;
    const JobRow& row = state.job(id);
    std::int64_t waiting = 0;
    const GangSize size = state.gang_of(row).value_or(GangSize{});
    GangTally held{size};
    for (const PodId pod_id : row.pods) {
        const PodRow& pod = state.pod(pod_id);
        if (pod.facts.terminating) continue;
        if (pod.standing == PodStanding::waiting) {
            ++waiting;
        } else if (pod.standing != PodStanding::done || pod.facts.phase == PodPhase::succeeded) {
            held.add(pod.facts.role);
        }
    }
    return size.ranks > 0 ? std::clamp<std::int64_t>(held.missing(), 0, waiting) : waiting;
}

bool Question::is_refused() const {
    const std::vector<PodId>& pods = job().pods;
    return std::any_of(pods.begin(), pods.end(),
                       [this](PodId id) { return base_->state().pod(id).bar == PodBar::refused; });
}

std::optional<Trial> Question::begin_trial() {
    if (trials_left_-- <= 0) return std::nullopt;
    Result<Trial> trial = Trial::of(settled_, now_);
    if (!trial) return std::nullopt;
    return std::move(*trial);
}

bool Question::moves_on(const ClusterState& state) const {
    if (!state.find_job(key_).exists()) return false;
    const std::int64_t left = missing(state);
    const bool is_gang = base_->state().gang_size(job()).value_or(0) > 0;
    return is_gang ? left == 0 : left < missing_;
}

bool Question::helps(const Change& change) {
    std::optional<Trial> trial = begin_trial();
    if (!trial) return false;
    change(*trial);
    trial->settle();
    if (!moves_on(trial->state())) return false;
    started_ = missing_ - missing(trial->state());
    return true;
}

std::string Question::would_start() const {
    if (started_ >= missing_) return "it would start now";
    return std::to_string(started_) + " of its " + std::to_string(missing_) +
           " waiting pods would start now";
}

bool Question::waits_whole() const {
    const std::vector<PodId>& pods = job().pods;
    return std::all_of(pods.begin(), pods.end(), [this](PodId id) {
        return base_->state().pod(id).standing == PodStanding::waiting;
    });
}

std::optional<std::int64_t> Question::smallest(std::int64_t low, std::int64_t high,
                                               const std::function<Change(std::int64_t)>& of) {
    if (low > high || !helps(of(high))) return std::nullopt;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (helps(of(middle))) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

namespace {

// Its owner takes back what waits.
void withdraw(Trial& trial, const ObjectKey& job, const std::vector<PodFacts>& pods) {
    trial.happen(JobDeleteRequested{job, false});
    for (const PodFacts& pod : pods) trial.happen(PodRemoved{pod.uid});
    trial.settle();  // others take what was promised to it, or what it stood before
}

}  // namespace

Change make_anew(const Question& question, const Rewrite& rewrite) {
    std::vector<PodFacts> before;
    std::vector<PodFacts> after;
    for (const PodId id : question.job().pods) {
        const PodRow& pod = question.state()->pod(id);
        if (pod.standing != PodStanding::waiting) continue;
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

Result<std::vector<Remedy>> find_remedies(std::string_view exported, const ObjectKey& job,
                                          Instant now) {
    Question question{exported, job, now};
    if (question.state() == nullptr) {
        return make_error(ErrorCode::JournalDamaged,
                          "copy the engine for a trial: the bytes are not a state");
    }
    std::vector<Remedy> remedies;
    if (!question.waits() || question.is_refused()) return remedies;
    for (const auto attempt :
         {try_fewer_gpus, try_fewer_ranks, try_shorter_run_time, try_other_queue, try_other_pool,
          try_higher_limits, try_jobs_move, try_job_ends, try_more_nodes}) {
        if (std::optional<Remedy> found = attempt(question)) remedies.push_back(std::move(*found));
    }
    return remedies;
}

}  // namespace gpuctl::whatif
