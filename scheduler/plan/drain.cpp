#include "scheduler/plan/drain.hpp"

#include <algorithm>
#include <map>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/victims.hpp"

namespace gpuctl {
namespace {

// Why somebody is to go, and who must at the most.
struct Cause {
    Drain drain = Drain::none;
    bool has_begun = false;  // the node should be empty already
    std::string why;
};

// Pods of one job on nodes that are to be empty.
struct Leaving {
    Cause cause;  // of those that reach furthest
    std::vector<PodId> pods;
};

void join(Cause& all, Cause one) {
    all.has_begun = all.has_begun || one.has_begun;
    if (all.why.empty()) all.why = std::move(one.why);
    all.drain = std::max(all.drain, one.drain);
}

Cause cause_of(const ClusterState& state, const NodeRow& node, const PodRow& pod) {
    Cause out;
    const Policy& policy = state.policy();
    if (!node.facts.unhealthy.empty() && policy.unhealthy_drain != Drain::none) {
        join(out, {policy.unhealthy_drain, true,
                   "stopped because node " + node.facts.name + " is unhealthy (" +
                       node.facts.unhealthy + ")"});
    }
    WindowSet windows = node.windows & state.calendar().draining;
    if (windows != 0) windows &= ~reserved_for(state, state.job(pod.job));
    for (std::size_t i = 0; windows != 0 && i < kWindowsMaximum; ++i) {
        if ((windows >> i & 1U) == 0) continue;
        const MaintenanceWindow& window = policy.windows[i];
        const Occurrence next = next_occurrence(window, state.now());
        const Duration lead = std::max(window.notice, pod.facts.stop_grace);
        if (!next.end.happened() || state.now() + lead < next.begin) continue;
        if (pod.ends_at.happened() && pod.ends_at <= next.begin) continue;  // over by then
        const bool has_begun = next.begin <= state.now();
        join(out, {window.drain, has_begun,
                   std::string{"stopped for "} +
                       (window.is_reservation() ? "reservation " : "maintenance ") + window.name +
                       // Told for as long as the job waits: no time counts from now.
                       (has_begun ? ", which had begun" : ", which was to begin")});
    }
    return out;
}

bool may_be_stopped(const ClusterState& state, Drain drain, const PodRow& pod) {
    if (planted(PlantedBug::drain_the_unwilling) && drain != Drain::none) {
        drain = Drain::all;
    }
    return is_stopped_by(drain, pod.facts) && pod.spared_until <= state.now();
}

// Asked to go already, for whomever; those that could not are asked again when it is time.
bool is_asked(const ClusterState& state, const PodRow& pod) {
    if (pod.is_leaving() || pod.delete_in_flight) return true;
    if (pod.eviction == Eviction::none) return false;
    return pod.evicted_for != ObjectKey{} || state.calendar().clock.drain_again_at.happened();
}

std::map<ObjectKey, Leaving> find_leaving(const ClusterState& state) {
    std::map<ObjectKey, Leaving> out;
    for (const std::uint32_t slot : state.calendar().nodes) {
        const NodeRow& node = state.node(NodeId{slot});
        if (node.facts.unhealthy.empty() && (node.windows & state.calendar().draining) == 0) {
            continue;
        }
        for (const PodId id : node.pods) {
            const PodRow& pod = state.pod(id);
            if (!pod.job.exists() || pod.standing != PodStanding::bound) continue;
            if (pod.is_leaving() || pod.delete_in_flight) continue;
            Cause cause = cause_of(state, node, pod);
            if (cause.drain == Drain::none) continue;
            const bool is_gang = state.gang_size(state.job(pod.job)).has_value();
            if (!is_gang && !may_be_stopped(state, cause.drain, pod)) continue;
            Leaving& of = out[state.job(pod.job).key];
            join(of.cause, std::move(cause));
            of.pods.push_back(id);
        }
    }
    return out;
}

// True when it is left to its ranks above the minimum: they go, or will when it has settled.
bool shrink(ClusterState& state, JobId id, const Leaving& of, EffectList& effects) {
    const JobRow& job = state.job(id);
    if (!ClusterState::is_elastic(job) || job.elastic.not_before > state.now()) return false;
    std::int32_t lowest = kRanksMaximum;
    for (const PodId pod : of.pods) lowest = std::min(lowest, state.pod(pod).facts.rank);
    const auto least = std::max<std::int64_t>(state.gang_size(job).value_or(1), 1);
    const ElasticRanks ranks = state.ranks_of(job);
    if (lowest < least || ranks.is_ending) return false;
    if (!ranks.is_settled) return !of.cause.has_begun;
    if (lowest >= ranks.there) return false;
    state.resize(id, lowest, of.cause.why, effects, EvictionCause::drained);
    return true;
}

// All of its ranks that hold; empty: one of them may not go, its round is not settled yet, or one
// could not go when it was asked. All are asked again then: a rank that was made anew meanwhile
// would else be stopped as soon as it starts, over and over.
std::vector<PodId> whole_gang(const ClusterState& state, const JobRow& job, const Leaving& of) {
    std::vector<PodId> out;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.standing == PodStanding::assumed) return {};
        if (pod.standing != PodStanding::bound) continue;
        const bool is_asked_before = is_asked(state, pod);
        if (is_asked_before && pod.eviction == Eviction::postponed) return {};
        if (is_asked_before) continue;
        if (!may_be_stopped(state, of.cause.drain, pod)) return {};
        out.push_back(id);
    }
    return out;
}

}  // namespace

bool drain_nodes(ClusterState& state, EffectList& effects) {
    bool is_turn_lost = false;
    for (auto& [key, of] : find_leaving(state)) {
        const JobId id = state.find_job(key);
        const std::int32_t before = state.job(id).elastic.wanted;
        if (shrink(state, id, of, effects)) {
            const bool is_told = state.job(id).elastic.wanted != before;
            is_turn_lost = is_turn_lost || (is_told && loses_its_turn(state, id));
            continue;
        }
        const JobRow& job = state.job(id);
        std::vector<PodId> pods;
        if (state.gang_size(job) && !planted(PlantedBug::drain_half_a_gang)) {
            pods = whole_gang(state, job, of);
        } else {
            for (const PodId pod : job.pods) {  // in their order, not in that of nodes
                const bool goes = std::find(of.pods.begin(), of.pods.end(), pod) != of.pods.end();
                if (!goes || is_asked(state, state.pod(pod))) continue;
                pods.push_back(pod);
            }
        }
        if (pods.empty()) continue;
        state.drain(pods, EvictionCause::drained, of.cause.why, effects);
        is_turn_lost = is_turn_lost || loses_its_turn(state, id);
    }
    state.note_drained();
    return is_turn_lost;
}

}  // namespace gpuctl
