// Quota reservations: capacity under limits that is reserved for jobs which a limit blocks. And
// other events after which refused jobs are tried again: more victims, a loan.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

namespace {

// Limits how often a change of reservations wakes refused jobs. The other jobs after the head are
// tried again when something else happens.
bool may_report_limits(PoolBase& row, Instant now) {
    constexpr std::int32_t kTimesMost = 32;  // within a second
    if (now - row.reservations.reported_at >= Duration::seconds(1)) {
        row.reservations.reported_at = now;
        row.reservations.reports = 0;
    }
    return row.reservations.reports++ < kTimesMost;
}

}  // namespace

void QueueTree::keep_quota_reservation(PoolId pool, HeadReservation of) {
    PoolBase& row = pools_.base(pool, {});
    const auto known =
        std::find_if(row.reservations.under_limits.begin(), row.reservations.under_limits.end(),
                     [&](const HeadReservation& one) { return one.job == of.job; });
    if (known != row.reservations.under_limits.end() && *known == of) return;
    if (known != row.reservations.under_limits.end()) {
        *known = of;
    } else {
        row.reservations.under_limits.push_back(of);
    }
    if (!may_report_limits(row, state_.session.event_time())) return;
    ++row.reservations.revision;
    state_.session.note_news();
}

bool QueueTree::set_quota_reservations(PoolId pool, std::vector<HeadReservation> kept) {
    PoolBase& row = pools_.base(pool, {});
    // The order in which they were found does not matter.
    if (std::is_permutation(row.reservations.under_limits.begin(),
                            row.reservations.under_limits.end(), kept.begin(), kept.end())) {
        return false;
    }
    row.reservations.under_limits = std::move(kept);
    if (!may_report_limits(row, state_.session.event_time())) return false;
    ++row.reservations.revision;
    state_.session.note_news();
    return true;
}

void QueueTree::forget_reservations(JobId job) {
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
        PoolReservations& kept = pools_.base(PoolId{pool}, {}).reservations;
        if (kept.head.job == job) set_head_reservation(PoolId{pool}, {});
        const std::size_t gone = std::erase_if(
            kept.under_limits, [job](const HeadReservation& one) { return one.job == job; });
        if (gone == 0) continue;
        ++kept.revision;
        state_.session.note_news();
    }
}

// One more pod of the queue may be evicted for other jobs.
void QueueTree::note_victim(QueueId queue) {
    if (!queue.exists() || has_fault(SeededFault::forget_new_victims)) return;
    QueueBase& row = queues_.base(queue, {});
    ++row.victims;
    note_victims(row.pool);
    state_.session.note_news();
}

// The pod needs longer than was predicted: a job that needs less may have it evicted now.
void QueueTree::note_longer(const PodRow& pod) {
    if (!pod.job.exists() || !pod.node.exists() || !pod.facts.preemptible) return;
    const QueueId queue = state_.jobs.rows()[pod.job.value()].queue;
    if (queue.exists() && state_.run_times.stops_long_for_short(queues_[queue.value()]))
        note_victim(queue);
}

// A queue of the pool holds more than before, perhaps more than its guarantee.
void QueueTree::note_loan(PoolId id) {
    const PoolRow& pool = pools_[id.value()];
    const bool is_guaranteed =
        std::any_of(pool.roots.begin(), pool.roots.end(),
                    [this](QueueId root) { return queues_[root.value()].guaranteed > GpuMilli{}; });
    if (!is_guaranteed) return;
    note_victims(id);
    state_.session.note_news();
}

}  // namespace gpuctl
