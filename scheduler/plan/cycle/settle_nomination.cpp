#include "scheduler/plan/cycle/settle_nomination.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {
namespace {

// The nominated pods are charged to the job's limits already: would the limits allow them if they
// were not? Budgets admitted them at the nomination.
bool is_allowed(const ClusterState& state, const JobRow& job,
                const std::vector<Placement>& nominated) {
    ReleasedUsage own;
    Load ask;
    for (const Placement& one : nominated) {
        ask.add(state.shape_of(one.pod).load());
        own.add(state, one.pod, 1);
    }
    bool out = true;
    visit_limits(
        state, job, ask, [&out](const LimitHit& hit) { return out = is_budget(hit.kind); }, &own);
    if (!out) return false;
    visit_model_limits(
        state, job, ask,
        [&](const LimitHit& hit) {
            for (const Placement& one : nominated) {
                const std::string& model = state.node(one.node).facts.gpu_model;
                if (same_gpu_model(model, hit.model)) out = false;
            }
        },
        &own);
    return out;
}

bool may_stay(const ClusterState& state, const JobRow& job, const Placement& nominated) {
    const NodeRow& node = state.node(nominated.node);
    const PodFacts& pod = state.pod(nominated.pod).facts;
    return node.known && node.pool == job.pool && !pod.terminating && !pod.gated &&
           first_refusal(pod.rules, node.facts) == NodeRefusal::none;
}

// The nomination is complete, its nodes may still be used, its pods still wait, and the job is not
// deleted.
bool is_sound(const ClusterState& state, const JobRow& job,
              const std::vector<Placement>& nominated) {
    if (static_cast<std::int64_t>(nominated.size()) != job.nomination.pods ||
        job.nomination.phase() == NominationPhase::worthless) {
        return false;
    }
    if (job.workload.state == WorkloadState::deleting) return false;
    if (has_fault(SeededFault::keep_stale_nominations)) return true;
    return std::all_of(nominated.begin(), nominated.end(),
                       [&](const Placement& one) { return may_stay(state, job, one); }) &&
           !state.gangs.breaks_topology(job, nominated) && !state.gangs.mixes_models(nominated) &&
           !state.maintenance.is_barred(job, nominated);
}

// Whether the nominated pods complete the gang, which may need more ranks or other roles now.
bool makes_whole(const ClusterState& state, const Readiness& ready,
                 const std::vector<Placement>& nominated) {
    const auto has_enough = [&](const RoleShort& role) {
        const auto ranks = std::count_if(
            nominated.begin(), nominated.end(),
            [&](const Placement& one) { return state.pod(one.pod).facts.role == role.role; });
        return role.ranks + ranks >= role.ranks_min;
    };
    return static_cast<std::int64_t>(nominated.size()) >= ready.ranks_needed &&
           std::all_of(ready.roles_short.begin(), ready.roles_short.end(), has_enough);
}

// True if a victim does not terminate, so that the time of its room is unknown.
bool has_stuck_victim(const ClusterState& state, const JobRow& job) {
    return std::any_of(job.nomination.victims.begin(), job.nomination.victims.end(),
                       [&state](const std::string& uid) {
                           const PodId victim = state.pods.find_pod(uid);
                           return victim.exists() && state.pod(victim).is_stuck(state.now());
                       });
}

}  // namespace

void settle_nomination(Commit& commit, JobId id) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(id);
    std::vector<Placement> nominated;
    state.nominations.read_nomination(job, nominated);
    if (!is_sound(state, job, nominated)) return commit.drop_nomination(id);
    if (!state.pods.is_free(nominated) || !is_allowed(state, job, nominated)) {
        const bool is_over = job.nomination.until <= state.now() || has_stuck_victim(state, job);
        if (is_over) return commit.drop_nomination(id);
        return commit.retry_evictions(id);
    }
    commit.drop_nomination(id);
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    if (ready.hold != Reason::none) return;
    if (ready.all_or_nothing && !makes_whole(state, ready, nominated)) return;
    // If this fails the job waits as other jobs do.
    (void)commit.place(id, nominated, ready.all_or_nothing, CyclePlan::PlacedFor::nomination);
}

}  // namespace gpuctl
