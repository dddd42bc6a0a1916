#include "scheduler/plan/backfill/quota_reservations.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/backfill/limited.hpp"
#include "scheduler/plan/backfill/reservation_rules.hpp"
#include "scheduler/policy/limit_heads.hpp"
#include "scheduler/state/pods/terminating.hpp"
#include "scheduler/state/tree/queue_chain.hpp"

namespace gpuctl {

// Finds the queues and the namespace whose usage counts against a limit of the head: only their
// jobs are examined.
void QuotaReservations::find_what_counts(const ClusterState& state, QuotaReservation& reservation) {
    const JobRow& head = state.job(reservation.head);
    reservation.counts_tenant = state.tenant(head.tenant).has_limits();
    const PoolRow& pool = state.pool(head.pool);
    const bool counts_all = has_limits_for_all(state, head.pool);
    QueueId top;  // the topmost queue above the head with limits
    for (QueueId up = head.queue; up.exists(); up = state.queue(up).parent) {
        if (state.queue(up).has_limits()) top = up;
    }
    reservation.counts_queue.clear();
    for (const QueueId queue : pool.queues) {
        if (!counts_all && !(top.exists() && is_below(state, queue, top))) continue;
        if (reservation.counts_queue.size() <= queue.value())
            reservation.counts_queue.resize(queue.value() + 1);
        reservation.counts_queue[queue.value()] = true;
    }
}

bool QuotaReservations::may_count(const ClusterState& state, const QuotaReservation& reservation,
                                  const JobRow& other) {
    // system-critical pods count against no limit
    if (other.priority >= kSystemPriority) return false;
    if (reservation.counts_tenant && other.tenant == state.job(reservation.head).tenant)
        return true;
    return other.queue.exists() && other.queue.value() < reservation.counts_queue.size() &&
           reservation.counts_queue[other.queue.value()];
}

bool QuotaReservations::add(const ClusterState& state, JobId head) {
    QuotaReservation& reservation = reservations_.emplace_back();
    reservation.head = head;
    work_out(state, reservation);
    const bool is_kept = reservation.answer == Answer::kept;
    if (!is_kept) reservations_.pop_back();
    return is_kept;
}

void QuotaReservations::add_head_reservation(const HeadReservation& head_reservation,
                                             std::vector<std::string_view> models) {
    QuotaReservation& reservation = reservations_.emplace_back();
    reservation.head = head_reservation.job;
    reservation.at = head_reservation.at;
    reservation.has_head_reservation = true;
    reservation.models = std::move(models);
}

QuotaReservations::HeadInWay QuotaReservations::find_head_in_way(
    const ClusterState& state, JobId job, const std::vector<PodId>& pods, Instant start,
    std::vector<std::string_view>& models, For what, const ReleasedUsage* with) {
    HeadInWay kept;
    const JobRow& row = state.job(job);
    for (QuotaReservation& reservation : reservations_) {
        if (reservation.head == job) continue;
        const JobRow& head = state.job(reservation.head);
        // If the head has a reservation of nodes, the time of arrival does not decide between equal
        // priorities.
        const bool is_equal = state.accounts.aged_priority(head.priority, head.submitted_at) ==
                              state.accounts.aged_priority(row.priority, row.submitted_at);
        const bool yields = yields_across_pools(state, head, row) &&
                            !(reservation.has_head_reservation && is_equal);
        if (yields && what == For::start) continue;
        if (reservation.counts_queue.empty()) find_what_counts(state, reservation);
        if (!may_count(state, reservation, row)) continue;
        if (reservation.answer == Answer::not_asked) work_out(state, reservation);
        if (reservation.answer == Answer::nothing) continue;
        if (is_over_by(reservation.at, start, row.run.time_max)) continue;
        const std::size_t barred = models.size();
        read(state, reservation, job, pods, models, with, kept);
        if (!kept.is_out && models.size() == barred) continue;
        kept.head = {reservation.head, reservation.at};
        if (kept.is_out) break;
    }
    return kept;
}

// Finds out whether these pods would prevent the head from using a GPU model, or from starting, if
// they still ran at its reserved time.
void QuotaReservations::read(const ClusterState& state, QuotaReservation& reservation, JobId job,
                             const std::vector<PodId>& pods, std::vector<std::string_view>& models,
                             const ReleasedUsage* with, HeadInWay& out) {
    const JobRow& head = state.job(reservation.head);
    trial_ = reservation.later;
    if (with != nullptr) trial_.add_all(*with);
    Load both = reservation.ask;
    both.add(load_of(state, pods));
    const auto bar = [&](const LimitHit& hit) {
        if (is_below(state, state.job(job).queue, hit.queue)) models.push_back(hit.model);
    };
    if (!has_fault(SeededFault::skip_model_limits)) {
        limits::visit_model_maxima(state, head, both, bar, &trial_);
    }
    out.models_with_alternative += read_reserved_models(state, reservation, job, pods, models);
    for (const PodId pod : pods) trial_.add_to_come(state, pod, -1);
    if (!is_within_limits(state, head, reservation.ask, &trial_)) out.is_out = true;
}

// True if the head's reserved nodes have this model, or if no other model would be left to the
// head.
bool QuotaReservations::needs_model(const ClusterState& state, const QuotaReservation& reservation,
                                    std::string_view model) const {
    if (reservation.has_head_reservation) return is_model_among(reservation.models, model);
    const JobRow& head = state.job(reservation.head);
    std::vector<std::string_view> barred{model};
    add_barred_models(state, head, reservation.ask, &trial_, barred);
    return !limits::leaves_other_models(state, head, barred);
}

// The amount of a model that queues reserve and do not lend is no limit of one queue: both rules
// may block the head.
std::size_t QuotaReservations::read_reserved_models(const ClusterState& state,
                                                    const QuotaReservation& reservation, JobId job,
                                                    const std::vector<PodId>& pods,
                                                    std::vector<std::string_view>& models) {
    const JobRow& head = state.job(reservation.head);
    const JobRow& row = state.job(job);
    if (head.pool != row.pool || head.priority >= kSystemPriority) return 0;
    if (has_fault(SeededFault::skip_model_limits) ||
        has_fault(SeededFault::lend_whole_model_guarantees))
        return 0;
    const std::size_t known = models.size();
    const GpuMilli more = load_of(state, pods).gpus;
    for (const ModelRoom& room : state.pool(head.pool).reserved_models) {
        if (!takes_gpu_model(limits::rules_of(state, head), room.model)) continue;
        if (!takes_gpu_model(limits::rules_of(state, row), room.model)) continue;
        const auto is_hit = [&] {
            return limits::crosses_model_lending(state, head, room, reservation.ask.gpus, &trial_);
        };
        if (is_hit()) continue;
        trial_.add_to_come(state, row, room.model, more);
        const bool is_used_up = is_hit();
        trial_.add_to_come(state, row, room.model, more * -1);
        if (!is_used_up) continue;
        if (needs_model(state, reservation, room.model)) models.push_back(room.model);
    }
    if (models.size() == known || !limits::leaves_other_models(state, row, models)) return 0;
    return models.size() - known;
}

void QuotaReservations::work_out(const ClusterState& state, QuotaReservation& reservation) {
    reservation.answer = Answer::nothing;
    state.waiting.read_readiness(reservation.head, ready_);
    if (!ready_.can_be_tried()) return;
    ready_.pods.resize(ready_.all_or_nothing ? static_cast<std::size_t>(ready_.ranks_needed) : 1);
    reservation.ask = load_of(state, ready_.pods);
    find_what_counts(state, reservation);
    if (has_fault(SeededFault::pass_under_limits)) return;
    if (release_until_free(state, reservation)) reservation.answer = Answer::kept;
}

bool QuotaReservations::release_until_free(const ClusterState& state,
                                           QuotaReservation& reservation) {
    const JobRow& head = state.job(reservation.head);
    if (!reservation.has_head_reservation && !is_limited(state, head, reservation.ask)) {
        reservation.at =
            state.now();  // no limit blocks it: another pool or the next Plan serves it
        return true;
    }
    for (Ends ends{state}; ends.has_more();) {
        const Instant at = ends.at();
        if (reservation.has_head_reservation && at > reservation.at) break;
        bool is_news = false;
        while (ends.has_more() && ends.at() == at) {  // all pods that end at this time
            const PodId id = ends.pop();
            const PodRow& pod = state.pod(id);
            if (!pod.job.exists() || pod.is_stuck(state.now())) continue;
            if (!may_count(state, reservation, state.job(pod.job))) continue;
            reservation.later.add(state, id, 1);
            is_news = true;
        }
        if (!is_news || reservation.has_head_reservation) continue;
        if (is_limited(state, head, reservation.ask, &reservation.later)) continue;
        reservation.at = at;
        return true;
    }
    if (reservation.has_head_reservation)
        return !is_limited(state, head, reservation.ask, &reservation.later);
    return has_waited_for_long(state, head) && release_the_oldest(state, reservation);
}

bool QuotaReservations::release_the_oldest(const ClusterState& state,
                                           QuotaReservation& reservation) {
    const JobRow& head = state.job(reservation.head);
    endless_.clear();
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.holding.pods == 0 || !may_count(state, reservation, job)) continue;
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            if (ends_some_day(row)) endless_.emplace_back(began_at(row), pod);
        }
    }
    std::sort(endless_.begin(), endless_.end());
    for (std::size_t i = 0; i < endless_.size();) {
        for (const Instant began = endless_[i].first;
             i < endless_.size() && endless_[i].first == began; ++i) {
            reservation.later.add(state, endless_[i].second, 1);
        }
        if (is_limited(state, head, reservation.ask, &reservation.later)) continue;
        reservation.at = Instant{};
        return true;
    }
    return false;
}

bool QuotaReservations::report(Commit& commit, PoolId pool) {
    const ClusterState& state = commit.state();
    if (state.pool(pool).reservations.under_limits.empty()) return false;
    const std::vector<HeadReservation>& known = state.pool(pool).reservations.under_limits;
    std::vector<HeadReservation> kept;
    for (QuotaReservation& reservation : reservations_) {
        const bool is_known =
            std::any_of(known.begin(), known.end(),
                        [&](const HeadReservation& one) { return one.job == reservation.head; });
        if (!is_known) continue;
        if (reservation.answer == Answer::not_asked) work_out(state, reservation);
        if (reservation.answer == Answer::nothing) continue;
        const HeadReservation reserved{reservation.head, reservation.at};
        if (std::find(kept.begin(), kept.end(), reserved) == kept.end()) kept.push_back(reserved);
    }
    return commit.set_quota_reservations(pool, std::move(kept));
}

void QuotaReservations::note_placed(const ClusterState& state, JobId job,
                                    const std::vector<Placement>& round) {
    const JobRow& row = state.job(job);
    for (QuotaReservation& reservation : reservations_) {
        if (reservation.answer != Answer::kept || !may_count(state, reservation, row)) continue;
        if (!is_over_by(reservation.at, state.now(), row.run.time_max)) continue;
        for (const Placement& placement : round) reservation.later.add(state, placement.pod, 1);
    }
}

void QuotaReservations::note_nomination() {
    for (QuotaReservation& reservation : reservations_) {
        reservation.answer = Answer::not_asked;
        reservation.later.clear();
        if (!reservation.has_head_reservation) reservation.at = Instant{};
    }
}

}  // namespace gpuctl
