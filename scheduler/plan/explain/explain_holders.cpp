// Explains why no pods are evicted for a job: pods of lower priority in its queue, pods of other
// queues that hold what its queue is guaranteed, and pods of jobs with more remaining work.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/plan/backfill/reservation_rules.hpp"
#include "scheduler/plan/elastic/shrink.hpp"
#include "scheduler/plan/explain/explain.hpp"
#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/plan/preempt/preempt.hpp"
#include "scheduler/plan/preempt/shorter_job.hpp"
#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/plan/reclaim/in_the_way.hpp"
#include "scheduler/plan/reclaim/reclaim.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

namespace {

struct Held {
    GpuMilli gpus;
    Instant until;  // the first time at which the answer for a pod may change
};
using fact::NotEvicted;
using HeldByReason = std::map<NotEvicted, Held>;

// What eviction depends on of the waiting job. It is read once, because there may be very many
// pods.
struct Waiting {
    JobId id;
    std::vector<PodId> pods;  // pods of the smallest size that it starts with
    GpuMilli ask;             // request of `pods`
    std::set<PodId> surplus;  // ranks of elastic jobs above the minimum, which need no consent
    bool is_behind_reservation = false;
    // Windows that the job may not run in or into: evictions on their nodes would not help it.
    WindowSet barred = 0;
    // If the job lacks room, pods on nodes that it may never use do not count. Null: a limit blocks
    // it, and pods on any node may count against the limit.
    const PlacementRules* only_on = nullptr;
};

bool counts(const ClusterState& state, const Waiting& waiting, NodeId node) {
    if (waiting.only_on == nullptr) return true;
    const NodeRow& row = state.node(node);
    return (row.windows & waiting.barred) == 0 &&
           first_refusal(*waiting.only_on, row.facts) == NodeRefusal::none;
}

// For a job behind a reservation, pods are evicted only on nodes without reserved capacity
// (docs/adr/0013): capacity released on reserved nodes belongs to the head of the line.
bool is_behind_reservation(const ClusterState& state, JobId id) {
    const HeadReservation& head_reservation = state.pool(state.job(id).pool).reservations.head;
    if (!head_reservation.job.exists() || head_reservation.job == id) return false;
    const Instant start = state.now() + longest_nomination(state, state.job(id));
    return !is_over_by(head_reservation.at, start, state.job(id).run.time_max);
}

std::optional<std::pair<NotEvicted, Instant>> why_not(const ClusterState& state,
                                                      const Waiting& waiting, const PodRow& pod,
                                                      Consent consent) {
    const StopCheck check = may_be_evicted(state, pod, consent);
    switch (check.bar) {
        case StopBar::unwilling:
            return std::pair{NotEvicted::not_preemptible, Instant{}};
        case StopBar::unsaid:
            return std::pair{consent == Consent::by_priority ? NotEvicted::not_stated_in_pool
                                                             : NotEvicted::not_stated,
                             Instant{}};
        case StopBar::bare:
            return std::pair{NotEvicted::no_controller, Instant{}};
        case StopBar::spared:
            return std::pair{NotEvicted::refused_before, check.until};
        case StopBar::protected_yet:
            return std::pair{NotEvicted::in_protected_run_time, check.until};
        case StopBar::not_now:
            return std::nullopt;
        case StopBar::none:
            break;
    }
    const bool is_gang = state.gangs.gang_size(state.job(pod.job)).has_value();
    const std::optional<Instant> from = state.evictions.evictable_from(pod, is_gang);
    if (from && *from <= state.now()) {
        if (!waiting.is_behind_reservation) return std::nullopt;
        return std::pair{NotEvicted::behind_reservation, Instant{}};
    }
    return std::pair{NotEvicted::evicted_often, from.value_or(Instant{})};
}

// True if evicting the pod, and the pods that are evicted with it, would leave its queue below its
// guarantee.
bool holds_within_guarantee(const ClusterState& state, const JobRow& job, PodId pod) {
    const JobRow& other = state.job(state.pod(pod).job);
    const reclaim::Sides meet = reclaim::sides(state, job.queue, other.queue);
    if (!meet.other.exists()) return false;
    ReleasedUsage gone;
    const bool is_whole = state.gangs.gang_of(other) && !ElasticJobs::is_elastic(other);
    for (const PodId one : other.pods) {
        if ((is_whole || one == pod) && state.pod(one).node.exists()) gone.add(state, one, 1);
    }
    return !reclaim::chain_keeps_guarantees(state, other.queue, meet.other, gone);
}

void add_held(HeldByReason& held, NotEvicted why, Instant until, GpuMilli gpus) {
    Held& of = held[why];
    of.gpus += gpus;
    if (!of.until.happened() || until < of.until) of.until = until;
}

Waiting read_waiting(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    if (!ready.all_or_nothing && ready.pods.size() > 1) ready.pods.resize(1);
    const Load ask = load_of(state, ready.pods);
    Waiting out{id, ready.pods, ask.gpus, {}, is_behind_reservation(state, id)};
    if (state.maintenance.has_windows()) {
        out.barred =
            state.maintenance.barred(state.maintenance.stay_of(job, ready.pods), state.now());
    }
    if (!shrink::may_try(state, job, ask)) return out;
    Candidates candidates;
    shrink::find_surplus(state, job, ask, candidates);
    for (const EvictionUnit& unit : candidates.units) {
        out.surplus.insert(unit.pods.begin(), unit.pods.end());
    }
    return out;
}

// What other queues hold beyond their guarantees while the job's queue is owed as much.
HeldByReason held_on_loan(const ClusterState& state, const Waiting& waiting) {
    HeldByReason held;
    const JobRow& job = state.job(waiting.id);
    if (!reclaim::may_try(state, job, waiting.ask)) return held;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(job.pool)) {
        if (!counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_terminating()) continue;
            if (!reclaim::may_stop(state, job, waiting.ask, state.job(pod.job))) continue;
            if (waiting.surplus.contains(on)) continue;
            const GpuMilli gpus = state.shape_of(pod).gpus;
            if (const auto why = why_not(state, waiting, pod, Consent::needed)) {
                add_held(held, why->first, why->second, gpus);
            } else if (holds_within_guarantee(state, job, on)) {
                add_held(held, NotEvicted::gang_within_guarantee, Instant{}, gpus);
            }
        }
    }
    return held;
}

// The pods that are evicted together with this one.
EvictionUnit unit_of(const ClusterState& state, PodId id) {
    const JobId of = state.pod(id).job;
    const JobRow& job = state.job(of);
    EvictionUnit unit;
    unit.job = of;
    const bool is_gang = state.gangs.gang_size(job).has_value();
    for (const PodId one : job.pods) {
        const PodRow& pod = state.pod(one);
        const bool is_part = one == id || (is_gang && !pod.is_surplus && !pod.is_terminating());
        if (is_part && pod.node.exists()) unit.add(state, one);
    }
    return unit;
}

// What jobs that come later by their run times hold, where the pool preempts by run times.
HeldByReason held_by_later_jobs(const ClusterState& state, const Waiting& waiting) {
    HeldByReason held;
    const JobRow& job = state.job(waiting.id);
    if (waiting.pods.empty() || !ShorterJob::may_try(state, job, waiting.pods.front())) return held;
    RemainingWork work;
    const ShorterJob shorter{state, job, work};
    const bool may_reclaim = reclaim::may_try(state, job, waiting.ask);
    std::map<JobId, bool> gangs;
    const auto is_later = [&](PodId id) {
        const JobId of = state.pod(id).job;
        if (!state.gangs.gang_size(state.job(of))) return shorter.precedes(unit_of(state, id));
        const auto [known, is_new] = gangs.try_emplace(of, false);
        if (is_new) known->second = shorter.precedes(unit_of(state, id));
        return known->second;
    };
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(job.pool)) {
        if (!counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_terminating() || waiting.surplus.contains(on)) continue;
            const JobRow& other = state.job(pod.job);
            const bool is_counted_elsewhere =
                preempt::may_stop(job, other) ||
                (may_reclaim && reclaim::may_stop(state, job, waiting.ask, other));
            if (is_counted_elsewhere || !is_later(on)) continue;
            const GpuMilli gpus = state.shape_of(pod).gpus;
            if (other.queue != job.queue && holds_within_guarantee(state, job, on)) {
                add_held(held, NotEvicted::within_guarantee, Instant{}, gpus);
            } else if (ShorterJob::ends_last(state, other)) {
                add_held(held, NotEvicted::ends_last, Instant{}, gpus);
            } else if (const auto why = why_not(state, waiting, pod, Consent::needed)) {
                add_held(held, why->first, why->second, gpus);
            }
        }
    }
    return held;
}

// For nodes with free GPUs that lack another resource: the amount of that resource that pods hold
// which are not evicted, by the reason.
using HeldOnNodesWithFreeGpus =
    std::map<std::pair<Column, NotEvicted>, std::pair<std::int64_t, Instant>>;

// Why a pod on a node whose GPUs the job could use is not evicted. Nothing: it may be evicted, or
// it would not be considered.
std::optional<std::pair<NotEvicted, Instant>> why_not_evicted(const ClusterState& state,
                                                              const Waiting& waiting,
                                                              const PodRow& pod) {
    const JobRow& job = state.job(waiting.id);
    const JobRow& other = state.job(pod.job);
    const bool has_gpus = state.shape_of(pod).gpus > GpuMilli{};
    if (preempt::may_stop(job, other)) {  // pods with GPUs are counted elsewhere
        return has_gpus ? std::nullopt : why_not(state, waiting, pod, Consent::by_priority);
    }
    if (!reclaim::may_clear(state, job, waiting.ask, other)) return std::nullopt;
    if (!has_gpus) return why_not(state, waiting, pod, Consent::needed);
    if (reclaim::may_stop(state, job, waiting.ask, other)) return std::nullopt;
    return std::pair{NotEvicted::within_guarantee, Instant{}};
}

HeldOnNodesWithFreeGpus held_on_nodes_with_free_gpus(const ClusterState& state,
                                                     const Waiting& waiting) {
    HeldOnNodesWithFreeGpus held;
    if (waiting.ask <= GpuMilli{}) return held;
    const Shape& shape = state.shape_of(waiting.pods.front());
    if (shape.gpus <= GpuMilli{}) return held;
    std::vector<Column> lacks;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(state.job(waiting.id).pool)) {
        in_the_way::read_short(state, slot, shape, 1, 0, lacks);
        if (lacks.empty() || !counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_terminating() || waiting.surplus.contains(on)) continue;
            const auto why = why_not_evicted(state, waiting, pod);
            if (!why) continue;
            for (const Need& need : state.shape_of(pod).needs) {
                if (std::find(lacks.begin(), lacks.end(), need.column) == lacks.end()) continue;
                auto& [amount, until] = held[{need.column, why->first}];
                amount += need.amount;
                if (!until.happened() || why->second < until) until = why->second;
            }
        }
    }
    return held;
}

fact::PodsNotEvicted collect_not_evicted(const ClusterState& state, fact::Holders holders,
                                         NotEvicted why, Instant until, const std::string& head) {
    fact::PodsNotEvicted out;
    out.holders = holders;
    out.why = why;
    if (until.happened()) out.rest = until - state.now();
    if (why == NotEvicted::behind_reservation) out.head = head;
    return out;
}

void add_held_on_nodes_with_free_gpus(const ClusterState& state,
                                      const HeldOnNodesWithFreeGpus& held, const std::string& head,
                                      std::vector<Fact>& facts) {
    for (const auto& [of, what] : held) {
        const auto& [column, why] = of;
        fact::PodsNotEvicted kept = collect_not_evicted(
            state, fact::Holders::on_nodes_with_free_gpus, why, what.second, head);
        kept.held = explain_parts::amount_of(state.nodes.capacity(), column, what.first);
        facts.push_back(std::move(kept));
    }
}

void add_not_evicted(const ClusterState& state, const HeldByReason& held, fact::Holders holders,
                     const std::string& head, std::vector<Fact>& facts) {
    for (const auto& [why, of] : held) {
        if (of.gpus == GpuMilli{}) continue;
        fact::PodsNotEvicted kept = collect_not_evicted(state, holders, why, of.until, head);
        kept.held = {ResourceKind::gpu, "", of.gpus.value(), false};
        facts.push_back(std::move(kept));
    }
}

}  // namespace

void explain_holders(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (out.empty() || !job.waiting.in_class.exists()) return;
    HeldByReason held;
    GpuMilli below;
    Waiting waiting = read_waiting(state, id);
    if (!explain_parts::is_of_limit(out.front().reason)) {
        waiting.only_on = &limits::rules_of(state, job);
    }
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(job.pool)) {
        if (!counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_terminating()) continue;
            if (!preempt::may_stop(job, state.job(pod.job))) continue;
            const GpuMilli gpus = state.shape_of(pod).gpus;
            below += gpus;
            if (waiting.surplus.contains(on)) continue;
            if (const auto why = why_not(state, waiting, pod, Consent::by_priority)) {
                add_held(held, why->first, why->second, gpus);
            }
        }
    }
    std::string head_name;
    if (waiting.is_behind_reservation) {
        head_name = to_string(state.job(state.pool(job.pool).reservations.head.job).key);
    }
    std::vector<Fact>& facts = out.front().facts;
    add_not_evicted(state, held_on_loan(state, waiting), fact::Holders::over_guarantee, head_name,
                    facts);
    add_held_on_nodes_with_free_gpus(state, held_on_nodes_with_free_gpus(state, waiting), head_name,
                                     facts);
    const bool is_by_due_time = state.pool(job.pool).preemption.mode == PreemptionMode::due;
    add_not_evicted(state, held_by_later_jobs(state, waiting),
                    is_by_due_time ? fact::Holders::due_later : fact::Holders::more_remaining_work,
                    head_name, facts);
    if (below == GpuMilli{}) return;
    const bool preempts = std::any_of(job.pods.begin(), job.pods.end(),
                                      [&](PodId pod) { return state.pod(pod).facts.preempts; });
    if (!preempts) {
        facts.push_back(fact::PreemptsNothing{below.value()});
        return;
    }
    add_not_evicted(state, held, fact::Holders::lower_priority, head_name, facts);
}

}  // namespace gpuctl
