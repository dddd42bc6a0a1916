// What evictions cost the evicted jobs: their budget of evictions per hour, completed work, and
// figures. All of it is counted when a pod goes: an eviction that was only requested, or refused,
// changes nothing.
//
// A pod goes when its eviction is accepted. It also goes when the watch shows it terminating or
// gone while its eviction has no answer yet, even if the nomination for which it was requested has
// been withdrawn meanwhile.

#include <algorithm>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/policy/preemption_cost.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

constexpr Duration kHour = Duration::seconds(3600);

void forget_before_the_last_hour(std::vector<Instant>& times, Instant now) {
    std::erase_if(times, [now](Instant at) { return at + kHour <= now; });
}

void forget_old_vacancies(std::vector<Vacancy>& vacancies, Instant now) {
    std::erase_if(vacancies,
                  [now](const Vacancy& one) { return one.evicted_at.back() + kHour <= now; });
}

// The time from which a job or pod with these evictions may be evicted again, at `most` evictions
// in an hour.
Instant movable_from(const std::vector<Instant>& moved_at, std::size_t most, Instant now) {
    return moved_at.size() < most ? now : std::max(now, moved_at[moved_at.size() - most] + kHour);
}

}  // namespace

void Evictions::request_eviction(PodId id, EvictionCause cause, CauseBox why) {
    const JobId job = state_.pods.rows()[id.value()].job;
    EvictionRequest& request = state_.pods.rows().eviction(id, {}).request;
    // A rank whose earlier eviction has no outcome yet is still part of the move of its gang that
    // was charged: the nomination that evicted it may have been used before all ranks were gone.
    const bool goes_along = request.is_uncharged && request.goes_along;
    request = {cause, std::move(why), true, goes_along,
               state_.run_times.run_so_far(state_.jobs.rows()[job.value()])};
    if (has_fault(SeededFault::charge_evictions_when_asked)) charge_eviction(id);
}

// No eviction of the pod is under way any more.
void Evictions::withdraw_eviction(PodId id) {
    EvictionRow& eviction = state_.pods.rows().eviction(id, {});
    eviction.state = EvictionState::none;
    eviction.request.is_uncharged = false;
}

void Evictions::assign(PodId id, const ObjectKey& preemptor) {
    state_.pods.rows().eviction(id, {}).preemptor = preemptor;
}

void Evictions::release(PodId id) {
    EvictionRow& eviction = state_.pods.rows().eviction(id, {});
    eviction.state = EvictionState::none;
    eviction.preemptor = ObjectKey{};
}

void Evictions::charge_eviction(PodId id) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    EvictionRow& eviction = state_.pods.rows().eviction(id, {});
    EvictionRequest& request = eviction.request;
    if (!pod.job.exists() || !std::exchange(request.is_uncharged, false)) return;
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    outcomes_.add(request.cause, 1);
    outcomes_.lost_gpu_ms += lost_gpu_ms(pod.facts, state_.pods.shapes().at(pod.shape).gpus,
                                         state_.session.event_time());
    const bool is_gang = state_.gangs.gang_of(job) || has_fault(SeededFault::count_replicas_as_one);
    if (is_gang && request.goes_along) return;
    Churn& churn = churn_[job.key];
    const RunSoFar run = state_.run_times.run_so_far(job);
    churn.add_run(run.began.happened() ? run : request.run);  // some ranks may have gone
    if (has_fault(SeededFault::forget_what_was_done)) churn.done = Duration{};
    churn.why = request.why;
    state_.run_times.touch_history(job.tenant);
    if (!is_gang) {
        forget_before_the_last_hour(eviction.evicted_at, state_.session.event_time());
        eviction.evicted_at.push_back(state_.session.event_time());
        forget_old_vacancies(churn.vacancies, state_.session.event_time());
        churn.vacancies.push_back({pod.facts.rank, eviction.evicted_at});
        churn.evicted_at.assign(1, state_.session.event_time());
        return;
    }
    forget_before_the_last_hour(churn.evicted_at, state_.session.event_time());
    churn.evicted_at.push_back(state_.session.event_time());
    for (const PodId rank : job.pods) {  // the ranks that were requested together go one by one
        EvictionRequest& other = state_.pods.rows().eviction(rank, {}).request;
        other.goes_along = other.is_uncharged;
    }
}

// Gives a new pod the place of an evicted pod of its job, if there is one.
void Evictions::take_vacancy(PodId id) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (churn_.empty() || !pod.job.exists() || pod.facts.gang) return;
    if (is_terminal(pod.facts.phase) || has_fault(SeededFault::forget_moves_of_replicas)) return;
    const auto known = churn_.find(state_.jobs.rows()[pod.job.value()].key);
    if (known == churn_.end()) return;
    std::vector<Vacancy>& vacancies = known->second.vacancies;
    forget_old_vacancies(vacancies, state_.session.event_time());
    const auto own = std::find_if(vacancies.begin(), vacancies.end(),
                                  [&](const Vacancy& one) { return one.rank == pod.facts.rank; });
    if (own == vacancies.end()) return;
    state_.pods.rows().eviction(id, {}).evicted_at = std::move(own->evicted_at);
    vacancies.erase(own);
}

// Forgets jobs without an eviction in the last hour. Called when other jobs are evicted.
void Evictions::forget_old_moves() {
    std::erase_if(churn_, [this](const auto& entry) {
        const Churn& known = entry.second;
        const bool is_needed =
            known.done > Duration{} && state_.jobs.find_job(entry.first).exists();
        const bool goes =
            known.evicted_at.back() + kHour <= state_.session.event_time() && !is_needed;
        if (goes)
            state_.run_times.touch_history(state_.tree.tenant_named(entry.first.namespace_name));
        return goes;
    });
}

std::optional<Instant> Evictions::evictable_from(const PodRow& pod, bool is_gang) const {
    const auto most =
        static_cast<std::size_t>(std::max(state_.session.policy().evictions_per_job_per_hour, 0));
    if (most == 0) return std::nullopt;
    if (!is_gang && !has_fault(SeededFault::count_replicas_as_one)) {
        return movable_from(pod.eviction.evicted_at, most, state_.session.event_time());
    }
    const auto found = churn_.find(state_.jobs.rows()[pod.job.value()].key);
    return found == churn_.end()
               ? state_.session.event_time()
               : movable_from(found->second.evicted_at, most, state_.session.event_time());
}

const Cause* Evictions::evicted_why(const ObjectKey& job) const {
    const auto found = churn_.find(job);
    return found == churn_.end() || !found->second.why ? nullptr : &*found->second.why;
}

// The first rank of a gang goes that is rolled back: the roll-back counts from now on.
void Evictions::note_rolled_back(PodId id) {
    const JobId job = state_.pods.rows()[id.value()].job;
    if (job.exists() && state_.gangs.note_rolled_back(job)) note_gang_rolled_back();
}

void Evictions::note_start(const ObjectKey& job) {
    if (const auto moved = churn_.find(job); moved != churn_.end()) moved->second.why.reset();
}

void Evictions::note_success(const ObjectKey& job) {
    Churn& churn = churn_.at(job);
    churn.run_began = Instant{};
    churn.done_before = churn.done = Duration{};
}

void Evictions::forget_work(const JobRow& job) {
    const auto moved = churn_.find(job.key);
    if (moved == churn_.end()) return;
    moved->second.done_before = moved->second.done = Duration{};
    state_.run_times.touch_history(job.tenant);
}

}  // namespace gpuctl
