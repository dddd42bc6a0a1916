#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>
#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"
#include "scheduler/state/run_times/lateness.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {

std::optional<std::int64_t> Gangs::gang_size(const JobRow& job) const {
    const std::optional<GangSize> gang = gang_of(job);
    return gang ? std::optional<std::int64_t>{gang->ranks} : std::nullopt;
}

void Gangs::on(const GangObserved& event, EffectList&) {
    const bool is_new = !gang_sizes_.contains(event.key);
    GangSize& known = gang_sizes_[event.key];
    if (is_new) state_.pods.rejoin(pods_that_name(state_, event.key));
    const auto said = state_.nodes.outside().gang_notes.find(event.key);
    const bool has_said = said != state_.nodes.outside().gang_notes.end();
    if (!is_new && known == event.size && event.note == (has_said ? said->second : GangNote{}))
        return;
    known = event.size;
    state_.nodes.set_gang_note(event.key, event.note);
    const JobId id = state_.jobs.find_job(event.key);
    if (!id.exists()) return;
    state_.jobs.resolve(id);
    state_.jobs.mark_dirty(id);
}

void Gangs::on(const GangRemoved& event, EffectList&) {
    if (gang_sizes_.erase(event.key) == 0) return;
    state_.nodes.set_gang_note(event.key, GangNote{});
    state_.pods.rejoin(pods_that_name(state_, event.key));
    const JobId id = state_.jobs.find_job(event.key);
    if (!id.exists()) return;
    state_.jobs.resolve(id);
    state_.jobs.mark_dirty(id);
}

bool Gangs::note_rolled_back(JobId id) {
    return std::exchange(state_.jobs.rows().gang(id, {}).is_rolling_back, false);
}

void Gangs::note_gone(JobId id, const PodFacts& pod) {
    state_.jobs.rows().gang(id, {}).finished.note_gone(pod);
}

void Gangs::note_there(JobId id, const PodFacts& pod) {
    state_.jobs.rows().gang(id, {}).finished.note_there(pod);
}

FinishedRanks Gangs::take_finished(JobId id) {
    return std::exchange(state_.jobs.rows().gang(id, {}).finished, {});
}

void Gangs::set_finished(JobId id, FinishedRanks ranks) {
    state_.jobs.rows().gang(id, {}).finished = std::move(ranks);
}

void Gangs::restore_run(JobId id, FinishedRanks ranks, bool started, Key<Retention>) {
    set_finished(id, std::move(ranks));
    state_.jobs.rows().gang(id, {}).started = started;
}

void Gangs::forget_job(JobId id) {
    stranded_gangs_.erase({state_.jobs.rows()[id.value()].arrival, id});
}

void Gangs::restore_job(JobId id, Key<StateReader>) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (yields(job.gang.phase())) stranded_gangs_.emplace(job.arrival, id);
}

}  // namespace gpuctl
