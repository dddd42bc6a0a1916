// Which pods of a job could be placed now, or what about the job itself prevents that. Only the job
// is considered: room, quotas and the order of jobs come later.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

std::optional<GangSize> Gangs::gang_of(const JobRow& job) const {
    bool is_gang = false;
    GangSize size;
    for (const PodId id : job.pods) {
        const PodFacts& facts = state_.pods.rows()[id.value()].facts;
        if (!facts.gang) continue;
        is_gang = true;
        size.ranks = std::max(size.ranks, facts.gang_min);
        for (const RoleMinimum& minimum : facts.gang_roles) size.add(minimum);
    }
    if (!is_gang) return std::nullopt;
    // an object that states the size takes precedence over the pods
    const auto observed = gang_sizes_.find(job.key);
    const auto note = state_.nodes.outside().gang_notes.find(job.key);
    const bool is_derived =
        note != state_.nodes.outside().gang_notes.end() && note->second.is_derived;
    const bool pods_say = size.ranks > 0 || !size.roles.empty();
    if (observed != gang_sizes_.end() && !(is_derived && pods_say)) {
        size.ranks = observed->second.ranks;
        if (!observed->second.roles.empty()) size.roles = observed->second.roles;
    }
    if (has_fault(SeededFault::ignore_roles)) size.roles.clear();
    size.raise_to_roles();
    return size;
}

namespace {

// What the pods of a job show, read in one pass.
struct Ranks {
    explicit Ranks(const GangSize& size) : held(size) {}

    GangTally held;  // ranks of the gang that hold resources and stay, or have succeeded
    bool is_being_deleted = false;
    bool is_ending = false;  // a rank has succeeded
    bool in_flight = false;
    std::int32_t last = -1;  // the last rank that holds resources
    // Of an elastic job: ranks after a missing rank wait for it. Otherwise the job would have a gap
    // that no size has.
    std::int32_t next = 0;
    const PodRow* first = nullptr;   // the first waiting rank
    const PodRow* astray = nullptr;  // a rank that names another pool or queue than the first
    const PodRow* barred = nullptr;
    std::string unsupported;  // a requested feature that is not supported
};

void forget_readiness(Readiness& out) {
    out.pods.clear();
    out.further.clear();
    out.subject.clear();
    out.waits = out.all_or_nothing = out.resume = false;
    out.hold = Reason::none;
    out.ranks_needed = out.ranks_min = out.ranks_held = out.ranks_ready = out.ranks_gated = 0;
    out.roles_short.clear();
}

// Nothing of the job can be placed now, for this reason. Returns true, for the callers' `return`.
bool hold_back(Readiness& out, Reason reason, std::string_view subject) {
    out.hold = reason;
    out.subject = subject;
    out.pods.clear();
    out.further.clear();
    return true;
}

void count_finished_ranks(const FinishedRanks& finished, Ranks& ranks) {
    ranks.held.add(finished);
    if (finished.empty()) return;
    ranks.is_ending = true;
    ranks.last = finished.last();
}

void count_rank_that_holds(const PodRow& pod, Ranks& ranks) {
    const bool ended_well =
        pod.bind.state == BindState::done && pod.facts.phase == PodPhase::succeeded;
    ranks.is_ending = ranks.is_ending || ended_well;
    const bool holds = pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
    const bool leaves = pod.facts.terminating && !has_fault(SeededFault::count_terminating_ranks);
    const bool evicted = pod.is_terminating() && !pod.facts.terminating;
    if (ended_well || (holds && !leaves && !evicted && !pod.bind.delete_in_flight)) {
        ranks.held.add(pod.facts.role);
        ranks.last = std::max(ranks.last, pod.facts.rank);
        ranks.next = std::max(ranks.next, pod.facts.rank + 1);
    }
}

// Adds the pod to the pods to place, unless something about the pod itself prevents that.
void add_waiting_rank(const ClusterState& state, const JobRow& job, PodId id, Ranks& ranks,
                      Readiness& out) {
    const PodRow& pod = state.pod(id);
    out.waits = true;
    if (ranks.first == nullptr) ranks.first = &pod;
    const bool elsewhere =
        pool_wanted_by(state, pod.facts) != pool_wanted_by(state, ranks.first->facts) ||
        pod.facts.queue != ranks.first->facts.queue;
    if (elsewhere) ranks.astray = &pod;
    if (pod.facts.gated) {
        ++out.ranks_gated;
    } else if (pod.bind.bar != PodBar::none) {
        ranks.barred = &pod;
    } else if (!pod.facts.unsupported.empty()) {
        ranks.unsupported = pod.facts.unsupported.front();
    } else if (std::string lacks = device_class_needed(state, job, pod.facts); !lacks.empty()) {
        ranks.unsupported = std::move(lacks);
    } else if (!ElasticJobs::is_elastic(job) || pod.facts.rank <= ranks.next) {
        out.pods.push_back(id);
        ranks.next = std::max(ranks.next, pod.facts.rank + 1);
    }
}

void read_ranks(const ClusterState& state, const JobRow& job, Ranks& ranks, Readiness& out) {
    ranks.is_being_deleted = job.workload.state == WorkloadState::deleting;
    count_finished_ranks(job.gang.finished, ranks);
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        ranks.next = job.gang.finished.first_open(ranks.next);
        if (pod.bind.delete_in_flight) ranks.is_being_deleted = true;  // a gang that is rolled back
        count_rank_that_holds(pod, ranks);
        if (pod.bind.state == BindState::nominated) out.waits = true;
        ranks.in_flight = ranks.in_flight || pod.bind.state == BindState::assumed;
        if (pod.bind.state != BindState::waiting || pod.facts.terminating) continue;
        if (pod.is_surplus) continue;  // it goes before it was placed
        add_waiting_rank(state, job, id, ranks, out);
    }
    out.ranks_held = ranks.held.ranks();
    out.ranks_ready = static_cast<std::int64_t>(out.pods.size());
}

// True if the job is paused, has nominated room already, or cannot be placed in its pool or queue.
bool is_held_by_its_place(const ClusterState& state, const JobRow& job, Readiness& out) {
    if (Seats::is_paused(job) && !has_fault(SeededFault::place_paused_jobs))
        return hold_back(out, Reason::paused, job.key.name);
    if (job.nomination.exists()) return hold_back(out, Reason::room_nominated, job.key.name);
    if (!job.pool.exists()) return hold_back(out, Reason::pool_unknown, job.pool_wanted);
    if (!job.queue.exists()) {
        return hold_back(out, Reason::queue_unknown, state.jobs.queue_name_of(job));
    }
    if (state.queue(job.queue).children.empty()) return false;
    return hold_back(out, Reason::queue_holds_queues, state.jobs.queue_name_of(job));
}

// "a/b, c/d": pool and queue of two ranks that name different ones.
std::string places_of(const ClusterState& state, const Ranks& ranks) {
    const auto place = [&state](const PodFacts& facts) {
        return std::string{pool_wanted_by(state, facts)} + "/" +
               (facts.queue.empty() ? kDefaultQueue : facts.queue);
    };
    return place(ranks.first->facts) + ", " + place(ranks.astray->facts);
}

// True if the gang cannot start whole: its size is unknown, its ranks cannot be placed together, or
// some do not exist.
bool is_held_by_its_gang(const ClusterState& state, const JobRow& job, const GangSize& size,
                         const Ranks& ranks, Readiness& out) {
    if (size.ranks <= 0) return hold_back(out, Reason::gang_size_unknown, job.key.name);
    if (!ranks.unsupported.empty()) {
        return hold_back(out, Reason::unsupported_feature, ranks.unsupported);
    }
    if (ranks.astray) {
        return hold_back(
            out, Reason::unsupported_feature,
            "ranks of one gang in different pools or queues (" + places_of(state, ranks) + ")");
    }
    GangTally there = ranks.held;
    for (const PodId pod : out.pods) there.add(state.pod(pod).facts.role);
    if (ranks.held.is_whole() || there.is_whole()) return false;
    there.read_short(out.roles_short);
    if (ranks.barred) return hold_back(out, Reason::bind_backoff, ranks.barred->facts.key.name);
    return hold_back(out, out.ranks_gated > 0 ? Reason::gated : Reason::gang_incomplete,
                     job.key.name);
}

// True if only ranks remain with which a whole elastic job would grow; these do not start a job.
bool is_only_to_grow(const ClusterState& state, const JobRow& job, const Ranks& ranks,
                     bool may_be_tried, Readiness& out) {
    // Once a rank has succeeded, all ranks that the job was to have must succeed: only ranks that
    // never began are left out then.
    const std::int32_t deferred_from = job.elastic.deferred_from;
    const std::int32_t last =
        ranks.is_ending ? std::max(ranks.last, deferred_from - 1) : ranks.last;
    if (!ElasticJobs::is_elastic(job) || !ranks.held.is_whole()) return false;
    if (ranks.is_ending && deferred_from <= 0) return false;
    const auto first = std::find_if(out.pods.begin(), out.pods.end(),
                                    [&](PodId id) { return state.pod(id).facts.rank > last; });
    out.further.assign(first, out.pods.end());
    out.pods.erase(first, out.pods.end());
    if (!out.pods.empty() || out.further.empty()) {
        out.further.clear();  // missing ranks before them come first
        return false;
    }
    if (!may_be_tried) out.further.clear();
    out.hold = Reason::turn;
    return true;
}

// True if no pod can be placed, or the job is not to be tried now.
bool is_held_by_its_pods(const JobRow& job, const Ranks& ranks, bool backs_off, Readiness& out) {
    if (out.pods.empty()) {
        if (out.ranks_gated > 0) return hold_back(out, Reason::gated, job.key.name);
        if (!ranks.unsupported.empty()) {
            return hold_back(out, Reason::unsupported_feature, ranks.unsupported);
        }
        // A rank before them does not exist yet.
        if (!ranks.barred) return hold_back(out, Reason::turn, job.key.name);
        return hold_back(out, Reason::bind_backoff, ranks.barred->facts.key.name);
    }
    if (ranks.is_being_deleted) return hold_back(out, Reason::bind_backoff, job.key.name);
    return backs_off && !has_fault(SeededFault::ignore_backoff) &&
           hold_back(out, Reason::bind_backoff, job.key.name);
}

// Orders the pods so that the gang is whole soonest: first the ranks of roles that lack ranks.
void put_missing_roles_first(const ClusterState& state, GangTally held, std::vector<PodId>& pods) {
    if (has_fault(SeededFault::any_rank_will_do)) return;
    std::vector<PodId> first;
    std::vector<PodId> others;
    for (const PodId id : pods) {
        const std::string& role = state.pod(id).facts.role;
        (held.missing_of(role) > 0 ? first : others).push_back(id);
        held.add(role);
    }
    first.insert(first.end(), others.begin(), others.end());
    pods = std::move(first);
}

// Ranks that make the gang whole are placed together, ranks of a whole gang one by one.
void start_gang_together(const ClusterState& state, const JobRow& job, const Ranks& ranks,
                         Readiness& out) {
    if (ranks.held.is_whole()) {
        if (ranks.in_flight && !has_started(job.gang.phase())) {
            // binds are in flight: extra ranks come later
            hold_back(out, Reason::turn, job.key.name);
        }
        return;
    }
    ranks.held.read_short(out.roles_short);
    if (!out.roles_short.empty()) put_missing_roles_first(state, ranks.held, out.pods);
    out.all_or_nothing = true;
    out.ranks_needed = ranks.held.missing();
    if (has_fault(SeededFault::one_rank_fewer) && out.ranks_needed > 1) --out.ranks_needed;
    out.resume = out.ranks_held > 0 && !has_fault(SeededFault::resume_like_others);
    // If ranks of an incomplete gang are being bound, their round is settled first.
    if (ranks.in_flight) hold_back(out, Reason::turn, job.key.name);
}

}  // namespace

void WaitingJobs::read_readiness(JobId id, Readiness& out) const {
    const JobRow& job = state_.jobs.rows()[id.value()];
    forget_readiness(out);
    const std::optional<GangSize> gang = state_.gangs.gang_of(job);
    const GangSize size = gang.value_or(GangSize{});
    Ranks ranks{size};
    read_ranks(state_, job, ranks, out);
    if (!out.waits || job.workload.state == WorkloadState::deleting) {
        out.waits = false;
        return out.pods.clear();
    }
    out.ranks_min = size.ranks;
    if (is_held_by_its_place(state_, job, out)) return;
    if (gang && is_held_by_its_gang(state_, job, size, ranks, out)) return;
    const bool backs_off = job.binding.phase(state_.session.event_time()) == BindPhase::backing_off;
    const bool may_be_tried = !ranks.is_being_deleted && !backs_off;
    if (gang && is_only_to_grow(state_, job, ranks, may_be_tried, out)) return;
    if (is_held_by_its_pods(job, ranks, backs_off, out)) return;
    if (gang) start_gang_together(state_, job, ranks, out);
}

void WaitingJobs::leave_queue(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    WaitingRow& waiting = state_.jobs.rows().waiting(id, {});
    if (!waiting.in_class.exists()) return;
    state_.jobs.note_change(id);
    // the job may have another queue now
    const QueueId queue = book_.at(waiting.in_class).key.queue;
    book_.remove(waiting.in_class, {job.submitted_at, job.arrival, id});
    waiting.in_class = ClassId::none();
    state_.tree.queue_rows().waiting(queue, {}) -= std::exchange(waiting.gpus, GpuMilli{});
    // The demand of its queue may be within its guarantee now.
    const PoolId pool = state_.tree.queue_rows()[queue.value()].pool;
    const bool always =
        state_.tree.pool_rows()[pool.value()].preemption.guarantees == GuaranteeRule::always;
    if (!always && !has_fault(SeededFault::forget_new_demand)) state_.session.note_news();
}

void WaitingJobs::enter_queue(JobId id, const Readiness& ready) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    WaitingRow& waiting = state_.jobs.rows().waiting(id, {});
    state_.jobs.note_change(id);
    waiting.in_class = book_.add({job.queue, job.priority, job.tenant, ask_of(job, ready)},
                                 {job.submitted_at, job.arrival, id});
    for (const PodId pod : ready.pods) {
        waiting.gpus += state_.pods.shapes().at(state_.pods.rows()[pod.value()].shape).gpus;
    }
    state_.tree.queue_rows().waiting(job.queue, {}) += waiting.gpus;
    state_.session.note_news();
}

void WaitingJobs::refresh(JobId id, Readiness& ready, EffectList& effects) {
    state_.jobs.note_change(id);
    leave_queue(id);
    state_.bindings.lift_refusals(id);
    state_.bindings.settle_round(id, effects);
    state_.elastic.settle_size(id, effects);
    state_.seats.settle(id, effects);
    state_.run_times.note_wait(id);
    read_readiness(id, ready);
    if (ready.can_be_tried()) enter_queue(id, ready);
    state_.gangs.note_stranded(id, ready);
    state_.session.set_timer(id);
}

}  // namespace gpuctl
