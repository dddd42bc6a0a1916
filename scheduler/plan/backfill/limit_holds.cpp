#include "scheduler/plan/backfill/limit_holds.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/backfill/limited.hpp"
#include "scheduler/plan/backfill/promise_rules.hpp"
#include "scheduler/policy/limit_heads.hpp"
#include "scheduler/state/pods/leaving.hpp"
#include "scheduler/state/tree/queue_chain.hpp"

namespace gpuctl {

// Finds the queues and the namespace whose usage counts against a limit of the head: only their
// jobs are examined.
void LimitHolds::find_what_counts(const ClusterState& state, Hold& hold) {
    const JobRow& head = state.job(hold.head);
    hold.counts_tenant = state.tenant(head.tenant).has_limits();
    const PoolRow& pool = state.pool(head.pool);
    const bool counts_all = has_limits_for_all(state, head.pool);
    QueueId top;  // the topmost queue above the head with limits
    for (QueueId up = head.queue; up.exists(); up = state.queue(up).parent) {
        if (state.queue(up).has_limits()) top = up;
    }
    hold.counts_queue.clear();
    for (const QueueId queue : pool.queues) {
        if (!counts_all && !(top.exists() && is_below(state, queue, top))) continue;
        if (hold.counts_queue.size() <= queue.value()) hold.counts_queue.resize(queue.value() + 1);
        hold.counts_queue[queue.value()] = true;
    }
}

bool LimitHolds::may_count(const ClusterState& state, const Hold& hold, const JobRow& other) {
    // system-critical pods count against no limit
    if (other.priority >= kSystemPriority) return false;
    if (hold.counts_tenant && other.tenant == state.job(hold.head).tenant) return true;
    return other.queue.exists() && other.queue.value() < hold.counts_queue.size() &&
           hold.counts_queue[other.queue.value()];
}

bool LimitHolds::add(const ClusterState& state, JobId head) {
    Hold& hold = holds_.emplace_back();
    hold.head = head;
    work_out(state, hold);
    const bool is_kept = hold.answer == Answer::kept;
    if (!is_kept) holds_.pop_back();
    return is_kept;
}

void LimitHolds::add_promised(const HeadReservation& promise,
                              std::vector<std::string_view> models) {
    Hold& hold = holds_.emplace_back();
    hold.head = promise.job;
    hold.at = promise.at;
    hold.is_promised = true;
    hold.models = std::move(models);
}

LimitHolds::Kept LimitHolds::keeps_out(const ClusterState& state, JobId job,
                                       const std::vector<PodId>& pods, Instant start,
                                       std::vector<std::string_view>& models, For what,
                                       const Relief* with) {
    Kept kept;
    const JobRow& row = state.job(job);
    for (Hold& hold : holds_) {
        if (hold.head == job) continue;
        const JobRow& head = state.job(hold.head);
        // If the head has a reservation of nodes, the time of arrival does not decide between equal
        // priorities.
        const bool is_equal = state.accounts.aged_priority(head.priority, head.submitted_at) ==
                              state.accounts.aged_priority(row.priority, row.submitted_at);
        const bool gives_way =
            gives_way_elsewhere(state, head, row) && !(hold.is_promised && is_equal);
        if (gives_way && what == For::start) continue;
        if (hold.counts_queue.empty()) find_what_counts(state, hold);
        if (!may_count(state, hold, row)) continue;
        if (hold.answer == Answer::not_asked) work_out(state, hold);
        if (hold.answer == Answer::nothing) continue;
        if (is_over_by(hold.at, start, row.run.time_max)) continue;
        const std::size_t barred = models.size();
        read(state, hold, job, pods, models, with, kept);
        if (!kept.is_out && models.size() == barred) continue;
        kept.for_whom = {hold.head, hold.at};
        if (kept.is_out) break;
    }
    return kept;
}

// Finds out whether these pods would prevent the head from using a GPU model, or from starting, if
// they still ran at its reserved time.
void LimitHolds::read(const ClusterState& state, Hold& hold, JobId job,
                      const std::vector<PodId>& pods, std::vector<std::string_view>& models,
                      const Relief* with, Kept& out) {
    const JobRow& head = state.job(hold.head);
    trial_ = hold.later;
    if (with != nullptr) trial_.add_all(*with);
    Load both = hold.ask;
    both.add(load_of(state, pods));
    const auto bar = [&](const LimitHit& hit) {
        if (is_below(state, state.job(job).queue, hit.queue)) models.push_back(hit.model);
    };
    if (!planted(PlantedBug::skip_model_limits)) {
        limits::visit_model_maxima(state, head, both, bar, &trial_);
    }
    out.models_beside += read_models_kept(state, hold, job, pods, models);
    for (const PodId pod : pods) trial_.add_to_come(state, pod, -1);
    if (!is_within_limits(state, head, hold.ask, &trial_)) out.is_out = true;
}

// True if the head's reserved nodes have this model, or if no other model would be left to the
// head.
bool LimitHolds::needs_model(const ClusterState& state, const Hold& hold,
                             std::string_view model) const {
    if (hold.is_promised) return is_model_among(hold.models, model);
    const JobRow& head = state.job(hold.head);
    std::vector<std::string_view> barred{model};
    add_barred_models(state, head, hold.ask, &trial_, barred);
    return !limits::leaves_other_models(state, head, barred);
}

// The amount of a model that queues reserve and do not lend is no limit of one queue: both rules
// may block the head.
std::size_t LimitHolds::read_models_kept(const ClusterState& state, const Hold& hold, JobId job,
                                         const std::vector<PodId>& pods,
                                         std::vector<std::string_view>& models) {
    const JobRow& head = state.job(hold.head);
    const JobRow& row = state.job(job);
    if (head.pool != row.pool || head.priority >= kSystemPriority) return 0;
    if (planted(PlantedBug::skip_model_limits) || planted(PlantedBug::keep_no_model_back)) return 0;
    const std::size_t known = models.size();
    const GpuMilli more = load_of(state, pods).gpus;
    for (const ModelRoom& room : state.pool(head.pool).models_kept) {
        if (!takes_gpu_model(limits::rules_of(state, head), room.model)) continue;
        if (!takes_gpu_model(limits::rules_of(state, row), room.model)) continue;
        const auto is_hit = [&] {
            return limits::crosses_model_lending(state, head, room, hold.ask.gpus, &trial_);
        };
        if (is_hit()) continue;
        trial_.add_to_come(state, row, room.model, more);
        const bool is_used_up = is_hit();
        trial_.add_to_come(state, row, room.model, more * -1);
        if (!is_used_up) continue;
        if (needs_model(state, hold, room.model)) models.push_back(room.model);
    }
    if (models.size() == known || !limits::leaves_other_models(state, row, models)) return 0;
    return models.size() - known;
}

void LimitHolds::work_out(const ClusterState& state, Hold& hold) {
    hold.answer = Answer::nothing;
    state.waiting.read_readiness(hold.head, ready_);
    if (!ready_.can_be_tried()) return;
    ready_.pods.resize(ready_.all_or_nothing ? static_cast<std::size_t>(ready_.ranks_needed) : 1);
    hold.ask = load_of(state, ready_.pods);
    find_what_counts(state, hold);
    if (planted(PlantedBug::pass_under_limits)) return;
    if (release_until_free(state, hold)) hold.answer = Answer::kept;
}

bool LimitHolds::release_until_free(const ClusterState& state, Hold& hold) {
    const JobRow& head = state.job(hold.head);
    if (!hold.is_promised && !is_limited(state, head, hold.ask)) {
        hold.at = state.now();  // no limit blocks it: another pool or the next Plan serves it
        return true;
    }
    for (Ends ends{state}; ends.has_more();) {
        const Instant at = ends.at();
        if (hold.is_promised && at > hold.at) break;
        bool is_news = false;
        while (ends.has_more() && ends.at() == at) {  // all pods that end at this time
            const PodId id = ends.take();
            const PodRow& pod = state.pod(id);
            if (!pod.job.exists() || pod.is_stuck(state.now())) continue;
            if (!may_count(state, hold, state.job(pod.job))) continue;
            hold.later.add(state, id, 1);
            is_news = true;
        }
        if (!is_news || hold.is_promised) continue;
        if (is_limited(state, head, hold.ask, &hold.later)) continue;
        hold.at = at;
        return true;
    }
    if (hold.is_promised) return !is_limited(state, head, hold.ask, &hold.later);
    return has_waited_for_long(state, head) && release_the_oldest(state, hold);
}

bool LimitHolds::release_the_oldest(const ClusterState& state, Hold& hold) {
    const JobRow& head = state.job(hold.head);
    endless_.clear();
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.holding.pods == 0 || !may_count(state, hold, job)) continue;
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            if (ends_some_day(row)) endless_.emplace_back(began_at(row), pod);
        }
    }
    std::sort(endless_.begin(), endless_.end());
    for (std::size_t i = 0; i < endless_.size();) {
        for (const Instant began = endless_[i].first;
             i < endless_.size() && endless_[i].first == began; ++i) {
            hold.later.add(state, endless_[i].second, 1);
        }
        if (is_limited(state, head, hold.ask, &hold.later)) continue;
        hold.at = Instant{};
        return true;
    }
    return false;
}

bool LimitHolds::tell(Commit& commit, PoolId pool) {
    const ClusterState& state = commit.state();
    if (state.pool(pool).reservations.under_limits.empty()) return false;
    const std::vector<HeadReservation>& known = state.pool(pool).reservations.under_limits;
    std::vector<HeadReservation> kept;
    for (Hold& hold : holds_) {
        const bool is_known =
            std::any_of(known.begin(), known.end(),
                        [&](const HeadReservation& one) { return one.job == hold.head; });
        if (!is_known) continue;
        if (hold.answer == Answer::not_asked) work_out(state, hold);
        if (hold.answer == Answer::nothing) continue;
        const HeadReservation told{hold.head, hold.at};
        if (std::find(kept.begin(), kept.end(), told) == kept.end()) kept.push_back(told);
    }
    return commit.set_quota_reservations(pool, std::move(kept));
}

void LimitHolds::note_placed(const ClusterState& state, JobId job,
                             const std::vector<Placement>& round) {
    const JobRow& row = state.job(job);
    for (Hold& hold : holds_) {
        if (hold.answer != Answer::kept || !may_count(state, hold, row)) continue;
        if (!is_over_by(hold.at, state.now(), row.run.time_max)) continue;
        for (const Placement& placement : round) hold.later.add(state, placement.pod, 1);
    }
}

void LimitHolds::note_claimed() {
    for (Hold& hold : holds_) {
        hold.answer = Answer::not_asked;
        hold.later.clear();
        if (!hold.is_promised) hold.at = Instant{};
    }
}

}  // namespace gpuctl
