#include "scheduler/plan/settle_claim.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {
namespace {

// It is charged already: would it be allowed without? Budgets let it in when it was claimed.
bool is_allowed(const ClusterState& state, const JobRow& job,
                const std::vector<Placement>& claimed) {
    Relief own;
    Load ask;
    for (const Placement& one : claimed) {
        const Shape& shape = state.shapes().at(state.pod(one.pod).shape);
        ask.add({shape.gpus, shape.cpu, shape.memory});
        own.add(state, one.pod, 1);
    }
    bool out = true;
    visit_limits(
        state, job, ask, [&out](const LimitHit& hit) { return out = is_budget(hit.kind); }, &own);
    if (!out) return false;
    visit_model_limits(
        state, job, ask,
        [&](const LimitHit& hit) {
            for (const Placement& one : claimed) {
                const std::string& model = state.node(one.node).facts.gpu_model;
                if (same_gpu_model(model, hit.model)) out = false;
            }
        },
        &own);
    return out;
}

bool may_stay(const ClusterState& state, const JobRow& job, const Placement& claimed) {
    const NodeRow& node = state.node(claimed.node);
    const PodFacts& pod = state.pod(claimed.pod).facts;
    return node.known && node.pool == job.pool && !pod.terminating && !pod.gated &&
           first_refusal(pod.rules, node.facts) == NodeRefusal::none;
}

// Whole, on nodes that may still be used, for pods that still wait and a job that is not deleted.
bool is_sound(const ClusterState& state, const JobRow& job, const std::vector<Placement>& claimed) {
    if (static_cast<std::int64_t>(claimed.size()) != job.claim_pods || job.victim_refused) {
        return false;
    }
    if (job.workload == WorkloadState::deleting) return false;
    if (planted(PlantedBug::keep_stale_claims)) return true;
    return std::all_of(claimed.begin(), claimed.end(),
                       [&](const Placement& one) { return may_stay(state, job, one); }) &&
           !state.breaks_topology(job, claimed) && !state.mixes_models(claimed) &&
           !state.is_barred(job, claimed);
}

// What its gang needs now may be more than it claimed, or other roles.
bool makes_whole(const ClusterState& state, const Readiness& ready,
                 const std::vector<Placement>& claimed) {
    const auto has_enough = [&](const RoleShort& role) {
        const auto ranks = std::count_if(claimed.begin(), claimed.end(), [&](const Placement& one) {
            return state.pod(one.pod).facts.role == role.role;
        });
        return role.ranks + ranks >= role.ranks_min;
    };
    return static_cast<std::int64_t>(claimed.size()) >= ready.ranks_needed &&
           std::all_of(ready.roles_short.begin(), ready.roles_short.end(), has_enough);
}

// One of those that were stopped does not go: when its room comes nobody knows.
bool has_stuck_victim(const ClusterState& state, const JobRow& job) {
    return std::any_of(job.victims.begin(), job.victims.end(), [&state](const std::string& uid) {
        const PodId victim = state.find_pod(uid);
        return victim.exists() && state.pod(victim).is_stuck(state.now());
    });
}

}  // namespace

void settle_claim(ClusterState& state, JobId id, EffectList& effects) {
    const JobRow& job = state.job(id);
    std::vector<Placement> claimed;
    state.read_claim(job, claimed);
    if (!is_sound(state, job, claimed)) return state.drop_claim(id);
    if (!state.is_free(claimed) || !is_allowed(state, job, claimed)) {
        const bool is_over = job.claim_until <= state.now() || has_stuck_victim(state, job);
        if (is_over) return state.drop_claim(id);
        return state.evict_postponed(id, effects);
    }
    state.drop_claim(id);
    Readiness ready;
    state.read_readiness(id, ready);
    if (ready.hold != Reason::none) return;
    if (ready.all_or_nothing && !makes_whole(state, ready, claimed)) return;
    (void)state.assume(id, claimed, ready.all_or_nothing, effects,
                       LetIn::when_claimed);  // else it waits as others do
}

}  // namespace gpuctl
