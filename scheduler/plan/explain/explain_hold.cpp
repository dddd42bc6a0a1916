// Explains what blocks the job itself, before any node is examined.

#include <algorithm>
#include <set>

#include "scheduler/plan/explain/explain_parts.hpp"

namespace gpuctl {

namespace {

std::vector<std::string> existing_pools(const ClusterState& state) {
    std::vector<std::string> names;
    for (const auto& [name, id] : state.tree.pools_by_name()) {
        if (state.tree.pool_exists(id)) names.push_back(name);
    }
    return names;
}

// Queues that a job may use.
std::vector<std::string> existing_queues(const ClusterState& state, PoolId pool) {
    std::vector<std::string> names;
    for (const QueueId id : state.pool(pool).queues) {
        if (state.queue(id).children.empty()) names.push_back(state.queue(id).name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> leaves_below(const ClusterState& state, QueueId queue) {
    std::vector<std::string> names;
    for (const QueueId child : state.queue(queue).children) {
        const auto more = leaves_below(state, child);
        names.insert(names.end(), more.begin(), more.end());
    }
    if (names.empty()) names.push_back(state.queue(queue).name);
    std::sort(names.begin(), names.end());
    return names;
}

// The pod of the job that uses the unsupported feature; empty: all of its pods do.
std::string user_of(const ClusterState& state, const JobRow& job, const std::string& feature) {
    const PodRow* user = nullptr;
    bool is_each = true;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const std::vector<std::string>& features = pod.facts.unsupported;
        if (std::find(features.begin(), features.end(), feature) != features.end()) {
            user = &pod;
        } else {
            is_each = false;
        }
    }
    return user == nullptr || is_each ? "" : user->facts.key.name;
}

std::optional<Fact> bar_of(const ClusterState& state, const JobRow& job,
                           std::vector<Figure>& figures) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.bind.state != BindState::waiting || pod.bind.bar == PodBar::none) continue;
        switch (pod.bind.bar) {
            case PodBar::elsewhere:
                return fact::PodBoundElsewhere{pod.facts.key.name};
            case PodBar::gone:
                return fact::PodGone{pod.facts.key.name};
            case PodBar::refused: {
                const Duration left = std::max(pod.bind.barred_until - state.now(), Duration{0});
                figures = {{"retry_in_ms", left.ms()}};
                return fact::BindRefused{pod.facts.key.name, pod.message, left};
            }
            case PodBar::none:
                break;
        }
    }
    return std::nullopt;
}

fact::GangSizeUnknown size_unknown(const ClusterState& state, const JobRow& job) {
    fact::GangSizeUnknown out{.gang = shown_name(job.key), .has_pod_group = false, .problem = ""};
    out.has_pod_group = state.gangs.gang_sizes().contains(job.key);
    for (const PodId id : job.pods) {
        const PodFacts& facts = state.pod(id).facts;
        if (facts.gang_min_problem.empty()) continue;
        // The gang has the name of the group that its controller makes, so a PodGroup of that name
        // does not apply.
        if (job.key.name.starts_with(kMadeGangPrefix)) out.gang.clear();
        out.problem = facts.gang_min_problem;
        break;
    }
    return out;
}

// All pods of a gang should state the same size; if not, the largest number counts.
std::vector<std::int64_t> sizes_stated(const ClusterState& state, const JobRow& job) {
    if (state.gangs.gang_sizes().contains(job.key)) return {};
    std::set<std::int64_t> stated;
    for (const PodId id : job.pods) {
        const PodFacts& facts = state.pod(id).facts;
        if (facts.gang && facts.gang_min > 0) stated.insert(facts.gang_min);
    }
    if (stated.size() < 2) return {};
    return {stated.begin(), stated.end()};
}

// A controller that creates pods one after another waits until each pod is ready, and each pod
// waits for the complete gang.
std::string made_in_turn_by(const ClusterState& state, const JobRow& job) {
    std::string maker;
    const auto& notes = state.nodes.outside().gang_notes;
    if (const auto note = notes.find(job.key); note != notes.end()) {
        maker = note->second.made_in_turn;
        if (maker.empty() && note->second.is_derived) return "";  // known not to
    }
    const bool is_said_by_object = !maker.empty();
    std::int64_t waiting = 0;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool waits = pod.bind.state == BindState::waiting && !pod.facts.terminating;
        waiting += waits ? 1 : 0;
        if (maker.empty() && waits) maker = pod.facts.made_in_turn;
    }
    // Two pods that are not ready show that the controller does not wait for each.
    if (waiting > 1 && !is_said_by_object) return "";
    return maker;
}

// The largest number of nodes and of pods that an explanation names.
constexpr std::size_t kNominatedNamed = 4;

void add_nominated(const ClusterState& state, const JobRow& job, Explanation& out) {
    std::vector<Placement> round;
    state.nominations.read_nomination(job, round);
    fact::RoomNominated room;
    for (const Placement& placement : round) {
        room.gpus += state.shape_of(placement.pod).gpus;
        const std::string& name = state.node(placement.node).facts.name;
        const auto known = std::find(room.nodes.begin(), room.nodes.end(), name);
        if (known == room.nodes.end()) room.nodes.push_back(name);
    }
    for (const std::string& uid : job.nomination.victims) {
        const PodId id = state.pods.find_pod(uid);
        if (id.exists() && state.pod(id).node.exists()) {
            room.pods.push_back(to_string(state.pod(id).facts.key));
        }
    }
    room.ends_in = std::max(job.nomination.until - state.now(), Duration{0});
    room.nodes_total = static_cast<std::int64_t>(room.nodes.size());
    room.pods_total = static_cast<std::int64_t>(room.pods.size());
    room.nodes.resize(std::min(room.nodes.size(), kNominatedNamed));
    room.pods.resize(std::min(room.pods.size(), kNominatedNamed));
    out.figures = {{"victims_left", room.pods_total},
                   {"gpus_nominated", room.gpus.value()},
                   {"nomination_ends_in_ms", room.ends_in.ms()}};
    out.facts = {std::move(room)};
}

// Adds that binding failed and that the job waits for the next attempt, or for the roll-back of its
// gang.
void add_bind_trouble(const ClusterState& state, const JobRow& job, Explanation& out) {
    if (auto bar = bar_of(state, job, out.figures)) {
        out.facts = {std::move(*bar)};
        return;
    }
    if (job.binding.phase(state.now()) == BindPhase::ready) {
        out.facts = {fact::Waits{fact::WaitsFor::rollback}};
        return;
    }
    fact::BindBackoff backoff;
    backoff.failures = job.binding.failures;
    backoff.retry_in = job.binding.not_before - state.now();
    for (const PodId id : job.pods) {
        if (backoff.message.empty()) backoff.message = state.pod(id).message;
    }
    out.figures = {{"retry_in_ms", backoff.retry_in.ms()}, {"failures", backoff.failures}};
    out.facts = {std::move(backoff)};
}

}  // namespace

namespace explain_parts {

void add_role_figures(const Readiness& ready, std::vector<Figure>& figures) {
    if (ready.roles_short.empty()) return;
    figures.push_back({"role_ranks_min", ready.roles_short.front().ranks_min});
    figures.push_back({"role_ranks_present", ready.roles_short.front().ranks});
}

std::vector<fact::RoleCount> role_counts(const Readiness& ready) {
    std::vector<fact::RoleCount> out;
    for (const RoleShort& role : ready.roles_short) {
        out.push_back({role.role, role.ranks_min, role.ranks});
    }
    return out;
}

Explanation explain_hold(const ClusterState& state, const JobRow& job, const Readiness& ready) {
    Explanation out;
    out.reason = ready.hold;
    out.subject = ready.subject == job.key.name ? shown_name(job.key) : ready.subject;
    if (job.pool.exists()) out.nodes_total = state.pool(job.pool).nodes;
    const std::string pool = job.pool_wanted;
    const auto gang_figures = [&] {
        out.figures = {{"ranks_min", ready.ranks_min},
                       {"ranks_present", ready.ranks_ready + ready.ranks_held},
                       {"ranks_gated", ready.ranks_gated}};
    };
    switch (ready.hold) {
        case Reason::paused:
            out.facts = {state.seats.paused(job)};
            break;
        case Reason::pool_unknown:
            out.facts = {fact::PoolUnknown{pool, existing_pools(state)}};
            break;
        case Reason::queue_unknown:
            out.facts = {fact::QueueUnknown{ready.subject, pool, existing_queues(state, job.pool)}};
            break;
        case Reason::queue_holds_queues:
            out.facts = {fact::QueueHoldsQueues{state.tree.queue_path(job.queue), pool,
                                                leaves_below(state, job.queue)}};
            break;
        case Reason::gang_size_unknown:
            out.facts = {size_unknown(state, job)};
            break;
        case Reason::gang_incomplete:
            gang_figures();
            add_role_figures(ready, out.figures);
            out.facts = {fact::GangIncomplete{.ranks_needed = ready.ranks_min,
                                              .ranks = ready.ranks_ready + ready.ranks_held,
                                              .roles = role_counts(ready),
                                              .stated = sizes_stated(state, job),
                                              .made_in_turn_by = made_in_turn_by(state, job)}};
            break;
        case Reason::gated:
            gang_figures();
            out.facts = {fact::PodsGated{ready.ranks_gated}};
            break;
        case Reason::unsupported_feature:
            out.facts = {
                fact::FeatureUnsupported{user_of(state, job, ready.subject), ready.subject}};
            break;
        case Reason::room_nominated:
            add_nominated(state, job, out);
            break;
        case Reason::turn:
            out.facts = {fact::Waits{fact::WaitsFor::other_ranks}};
            break;
        default:
            add_bind_trouble(state, job, out);
    }
    return out;
}

}  // namespace explain_parts

}  // namespace gpuctl
