// Why a job that comes before those who hold the room does not have them stopped: those of lower
// priority in its queue, and those in other queues who hold what its queue is guaranteed.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/plan/explain.hpp"
#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/in_the_way.hpp"
#include "scheduler/plan/preempt.hpp"
#include "scheduler/plan/promise_rules.hpp"
#include "scheduler/plan/reclaim.hpp"
#include "scheduler/plan/shrink.hpp"
#include "scheduler/plan/victims.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

using explain_parts::gpus_noun;
using explain_parts::span;

namespace {

struct Held {
    GpuMilli gpus;
    Instant until;  // the first of them
};
enum class Why : std::uint8_t {
    unwilling,
    unsaid,          // their users do not say that they may be stopped
    unsaid_in_pool,  // likewise, and for higher priority their pool asks them
    bare,
    moved_often,
    protected_yet,
    spared,
    promise,
    within_also,      // its job holds what its own queue is guaranteed, too
    within_guarantee  // its queue holds no more than that
};
using HeldByReason = std::map<Why, Held>;

// Who waits, as far as it tells whom others are stopped for. Read once: they may be very many.
struct Waiting {
    JobId id;
    std::vector<PodId> pods;  // the fewest that it starts with
    GpuMilli ask;             // of those
    std::set<PodId> surplus;  // further ranks of elastic jobs, which go though nobody said they may
    bool is_behind_a_promise = false;
    // It lacks room: what stands where it may never go is none to it. Null: a limit stops it, under
    // which that may count all the same.
    const PlacementRules* only_on = nullptr;
};

bool counts(const ClusterState& state, const Waiting& waiting, NodeId node) {
    return waiting.only_on == nullptr ||
           first_refusal(*waiting.only_on, state.node(node).facts) == NodeRefusal::none;
}

// Behind a promise others are stopped only where it is not (docs/adr/0013): what they leave there
// belongs to the first in line.
bool is_behind_a_promise(const ClusterState& state, JobId id) {
    const Promise& promise = state.pool(state.job(id).pool).promise;
    if (!promise.job.exists() || promise.job == id) return false;
    const Instant start = state.now() + longest_claim(state, state.job(id));
    return !is_over_by(promise.at, start, state.job(id).run_time_max);
}

std::optional<std::pair<Why, Instant>> why_not(const ClusterState& state, const Waiting& waiting,
                                               const PodRow& pod, Consent consent) {
    const StopCheck check = may_be_stopped(state, pod, consent);
    switch (check.bar) {
        case StopBar::unwilling:
            return std::pair{Why::unwilling, Instant{}};
        case StopBar::unsaid:
            return std::pair{consent == Consent::by_priority ? Why::unsaid_in_pool : Why::unsaid,
                             Instant{}};
        case StopBar::bare:
            return std::pair{Why::bare, Instant{}};
        case StopBar::spared:
            return std::pair{Why::spared, check.until};
        case StopBar::protected_yet:
            return std::pair{Why::protected_yet, check.until};
        case StopBar::not_now:
            return std::nullopt;
        case StopBar::none:
            break;
    }
    const bool is_gang = state.gang_size(state.job(pod.job)).has_value();
    const std::optional<Instant> from = state.evictable_from(pod, is_gang);
    if (from && *from <= state.now()) {
        if (!waiting.is_behind_a_promise) return std::nullopt;
        return std::pair{Why::promise, Instant{}};
    }
    return std::pair{Why::moved_often, from.value_or(Instant{})};
}

std::string words_of(const ClusterState& state, Why why, Instant until,
                     const std::string& promised_to) {
    const std::string rest =
        until.happened() ? " for another " + span(until - state.now()) : std::string{};
    switch (why) {
        case Why::unwilling:
            return "may not be stopped for others (preemptible)";
        case Why::unsaid:
            return "may not be stopped for others, as their users do not say so (preemptible)";
        case Why::unsaid_in_pool:
            return "may not be stopped for others, as their users do not say so (preemptible) and "
                   "their pool asks them (preemption.victims)";
        case Why::bare:
            return "nobody would make again";
        case Why::moved_often:
            return until.happened() ? "were moved as often as they may be in an hour, and stay" +
                                          rest + " (policy.evictionsPerJobPerHour)"
                                    : "are never moved (policy.evictionsPerJobPerHour)";
        case Why::protected_yet:
            return "started lately and are protected" + rest + " (policy.runTimeProtected)";
        case Why::spared:
            return "could not be evicted and are left alone" + rest;
        case Why::promise:
            return "could be stopped, but not where room is promised to " + promised_to +
                   ", and elsewhere that is not enough";
        case Why::within_also:
            return "stay, as their jobs also hold what their own queues are guaranteed";
        case Why::within_guarantee:
            return "stay, as their queues hold no more GPUs than they are guaranteed";
    }
    return "";
}

// What is stopped together with it would leave its queue less than that is guaranteed.
bool holds_within_guarantee(const ClusterState& state, const JobRow& job, PodId pod) {
    const JobRow& other = state.job(state.pod(pod).job);
    const reclaim::Sides meet = reclaim::sides(state, job.queue, other.queue);
    if (!meet.other.exists()) return false;
    Relief gone;
    const bool is_whole = state.gang_of(other) && !ClusterState::is_elastic(other);
    for (const PodId one : other.pods) {
        if ((is_whole || one == pod) && state.pod(one).node.exists()) gone.add(state, one, 1);
    }
    return !reclaim::chain_keeps_guarantees(state, other.queue, meet.other, gone);
}

void add_held(HeldByReason& held, Why why, Instant until, GpuMilli gpus) {
    Held& of = held[why];
    of.gpus += gpus;
    if (!of.until.happened() || until < of.until) of.until = until;
}

Waiting read_waiting(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    Readiness ready;
    state.read_readiness(id, ready);
    if (!ready.all_or_nothing && ready.pods.size() > 1) ready.pods.resize(1);
    const Load ask = load_of(state, ready.pods);
    Waiting out{id, ready.pods, ask.gpus, {}, is_behind_a_promise(state, id)};
    if (!shrink::may_try(state, job, ask)) return out;
    Candidates candidates;
    shrink::find_surplus(state, job, ask, candidates);
    for (const EvictionUnit& unit : candidates.units) {
        out.surplus.insert(unit.pods.begin(), unit.pods.end());
    }
    return out;
}

// Of what queues beside its own hold beyond their guarantees while its own is owed as much.
HeldByReason held_on_loan(const ClusterState& state, const Waiting& waiting) {
    HeldByReason held;
    const JobRow& job = state.job(waiting.id);
    if (!reclaim::may_try(state, job, waiting.ask)) return held;
    const NodeSet& nodes = state.capacity().nodes_of(job.pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        if (!counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_leaving()) continue;
            if (!reclaim::may_stop(state, job, waiting.ask, state.job(pod.job))) continue;
            if (waiting.surplus.contains(on)) continue;
            const GpuMilli gpus = state.shapes().at(pod.shape).gpus;
            if (const auto why = why_not(state, waiting, pod, Consent::needed)) {
                add_held(held, why->first, why->second, gpus);
            } else if (holds_within_guarantee(state, job, on)) {
                add_held(held, Why::within_also, Instant{}, gpus);
            }
        }
    }
    return held;
}

// Where GPUs are free and something else is not: how much of that is held by pods that do not go.
using HeldBesideGpus = std::map<std::pair<Column, Why>, std::pair<std::int64_t, Instant>>;

// Of a pod on a node whose GPUs the job could have: what keeps it there; absent: it may go, or it
// is none of those that would.
std::optional<std::pair<Why, Instant>> why_beside(const ClusterState& state, const Waiting& waiting,
                                                  const PodRow& pod) {
    const JobRow& job = state.job(waiting.id);
    const JobRow& other = state.job(pod.job);
    const bool has_gpus = state.shapes().at(pod.shape).gpus > GpuMilli{};
    if (preempt::may_stop(job, other)) {  // those with GPUs are counted by these
        return has_gpus ? std::nullopt : why_not(state, waiting, pod, Consent::by_priority);
    }
    if (!reclaim::may_clear(state, job, waiting.ask, other)) return std::nullopt;
    if (!has_gpus) return why_not(state, waiting, pod, Consent::needed);
    if (reclaim::may_stop(state, job, waiting.ask, other)) return std::nullopt;
    return std::pair{Why::within_guarantee, Instant{}};
}

HeldBesideGpus held_beside_gpus(const ClusterState& state, const Waiting& waiting) {
    HeldBesideGpus held;
    if (waiting.ask <= GpuMilli{}) return held;
    const Shape& shape = state.shapes().at(state.pod(waiting.pods.front()).shape);
    if (shape.gpus <= GpuMilli{}) return held;
    std::vector<Column> lacks;
    const NodeSet& nodes = state.capacity().nodes_of(state.job(waiting.id).pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        in_the_way::read_short(state, slot, shape, 1, 0, lacks);
        if (lacks.empty() || !counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_leaving() || waiting.surplus.contains(on)) continue;
            const auto why = why_beside(state, waiting, pod);
            if (!why) continue;
            for (const Need& need : state.shapes().at(pod.shape).needs) {
                if (std::find(lacks.begin(), lacks.end(), need.column) == lacks.end()) continue;
                auto& [amount, until] = held[{need.column, why->first}];
                amount += need.amount;
                if (!until.happened() || why->second < until) until = why->second;
            }
        }
    }
    return held;
}

void tell_beside_gpus(const ClusterState& state, const HeldBesideGpus& held,
                      const std::string& promised_to, std::string& story) {
    const Capacity& capacity = state.capacity();
    for (const auto& [of, what] : held) {
        const auto& [column, why] = of;
        const std::string amount = explain_parts::amount_text(
            capacity.kind(column), capacity.resource(column), what.first);
        story += "; " + amount + " beside free GPUs " + (amount.starts_with("1 ") ? "is" : "are") +
                 " held by pods " + (why == Why::within_guarantee ? "with" : "without") +
                 " GPUs that " + words_of(state, why, what.second, promised_to);
    }
}

void tell(const ClusterState& state, const HeldByReason& held, const std::string& by,
          const std::string& promised_to, std::string& story) {
    for (const auto& [why, of] : held) {
        if (of.gpus == GpuMilli{}) continue;
        story += "; " + gpus_noun(of.gpus.value()) + (of.gpus == whole_gpus(1) ? " is" : " are") +
                 " held " + by + " that " + words_of(state, why, of.until, promised_to);
    }
}

}  // namespace

void explain_holders(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (out.empty() || !job.waits_in.exists()) return;
    HeldByReason held;
    GpuMilli below;
    Waiting waiting = read_waiting(state, id);
    if (!explain_parts::is_of_limit(out.front().reason)) {
        waiting.only_on = &limits::rules_of(state, job);
    }
    const NodeSet& nodes = state.capacity().nodes_of(job.pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        if (!counts(state, waiting, NodeId{slot})) continue;
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_leaving()) continue;
            if (!preempt::may_stop(job, state.job(pod.job))) continue;
            const GpuMilli gpus = state.shapes().at(pod.shape).gpus;
            below += gpus;
            if (waiting.surplus.contains(on)) continue;
            if (const auto why = why_not(state, waiting, pod, Consent::by_priority)) {
                add_held(held, why->first, why->second, gpus);
            }
        }
    }
    std::string promised_to;
    if (waiting.is_behind_a_promise) {
        promised_to = shown_name(state.job(state.pool(job.pool).promise.job).key);
    }
    std::string& story = out.front().sentence;
    tell(state, held_on_loan(state, waiting),
         "in queues that have more than their guarantees by pods", promised_to, story);
    tell_beside_gpus(state, held_beside_gpus(state, waiting), promised_to, story);
    if (below == GpuMilli{}) return;
    const bool preempts = std::any_of(job.pods.begin(), job.pods.end(),
                                      [&](PodId pod) { return state.pod(pod).facts.preempts; });
    if (!preempts) {
        story += "; " + gpus_noun(below.value()) +
                 " are held by pods of lower priority, but it may stop nobody";
        return;
    }
    tell(state, held, "by pods of lower priority", promised_to, story);
}

}  // namespace gpuctl
