// Why a job that comes before those who hold the room does not have them stopped.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "scheduler/plan/explain.hpp"
#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/preempt.hpp"
#include "scheduler/plan/victims.hpp"

namespace gpuctl {

using explain_parts::gpus_noun;
using explain_parts::span;

namespace {

struct Held {
    GpuMilli gpus;
    Instant until;  // the first of them
};
enum class Why : std::uint8_t { unwilling, bare, moved_often, protected_yet, spared, promise };

// Behind a promise nobody has others stopped (docs/adr/0013): what they leave would belong to the
// first in line.
bool is_behind_a_promise(const ClusterState& state, JobId id) {
    const Promise& promise = state.pool(state.job(id).pool).promise;
    return promise.job.exists() && promise.job != id;
}

std::optional<std::pair<Why, Instant>> why_not(const ClusterState& state, JobId beneficiary,
                                               const PodRow& pod) {
    const StopCheck check = may_be_stopped(state, pod);
    switch (check.bar) {
        case StopBar::unwilling:
            return std::pair{Why::unwilling, Instant{}};
        case StopBar::bare:
            return std::pair{Why::bare, Instant{}};
        case StopBar::spared:
            return std::pair{Why::spared, check.until};
        case StopBar::protected_yet:
            return std::pair{Why::protected_yet, check.until};
        case StopBar::part:
        case StopBar::not_now:
            return std::nullopt;
        case StopBar::none:
            break;
    }
    const std::optional<Instant> from = state.evictable_from(state.job(pod.job).key);
    if (from && *from <= state.now()) {
        if (!is_behind_a_promise(state, beneficiary)) return std::nullopt;
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
            return "could be stopped, but not for it while room is promised to " + promised_to;
    }
    return "";
}

}  // namespace

void explain_holders(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (out.empty() || !job.waits_in.exists()) return;
    std::map<Why, Held> held;
    GpuMilli below;
    const NodeSet& nodes = state.capacity().nodes_of(job.pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        for (const PodId on : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(on);
            if (!pod.job.exists() || pod.is_leaving()) continue;
            if (!preempt::may_stop(job, state.job(pod.job))) continue;
            const GpuMilli gpus = state.shapes().at(pod.shape).gpus;
            below += gpus;
            const auto why = why_not(state, id, pod);
            if (!why) continue;
            Held& of = held[why->first];
            of.gpus += gpus;
            if (!of.until.happened() || why->second < of.until) of.until = why->second;
        }
    }
    if (below == GpuMilli{}) return;
    std::string& story = out.front().sentence;
    const bool preempts = std::any_of(job.pods.begin(), job.pods.end(),
                                      [&](PodId pod) { return state.pod(pod).facts.preempts; });
    if (!preempts) {
        story += "; " + gpus_noun(below.value()) +
                 " are held by pods of lower priority, but it may stop nobody";
        return;
    }
    std::string promised_to;
    if (is_behind_a_promise(state, id)) {
        promised_to = shown_name(state.job(state.pool(job.pool).promise.job).key);
    }
    for (const auto& [why, of] : held) {
        if (of.gpus == GpuMilli{}) continue;
        story += "; " + gpus_noun(of.gpus.value()) + (of.gpus == whole_gpus(1) ? " is" : " are") +
                 " held by pods of lower priority that " +
                 words_of(state, why, of.until, promised_to);
    }
}

}  // namespace gpuctl
