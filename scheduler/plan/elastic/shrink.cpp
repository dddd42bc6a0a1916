#include "scheduler/plan/elastic/shrink.hpp"

#include <algorithm>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/elastic/sizes_by_speedup.hpp"
#include "scheduler/plan/reclaim/reclaim.hpp"
#include "scheduler/state/accounts/quota.hpp"

namespace gpuctl::shrink {
namespace {

// True if ranks of the job's namespace in other pools block it, too.
bool is_about_quota(const ClusterState& state, const JobRow& job, const Load& ask) {
    return lacks_quota(state, job, ask) && !has_fault(SeededFault::shrink_in_its_pool_alone);
}

// Whether `other` holds ranks that may block the job: if `anywhere`, all of its namespace do,
// otherwise those in its pool.
bool is_in_the_way(const JobRow& job, const JobRow& other, bool anywhere) {
    return other.key != job.key &&
           (other.pool == job.pool || (anywhere && other.tenant == job.tenant));
}

bool yields_to(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other) {
    if (job.priority >= other.priority || has_fault(SeededFault::shrink_for_lower_priority))
        return true;
    if (other.pool != job.pool) return false;
    if (reclaim::may_try(state, job, ask) && reclaim::may_stop(state, job, ask, other)) return true;
    const bool has_gpus = other.holding.gpus > GpuMilli{} || ask <= GpuMilli{};
    return !has_gpus && reclaim::may_clear(state, job, ask, other);
}

// Ranks that the job could release, the highest first.
std::vector<PodId> surplus_of(const ClusterState& state, const JobRow& job) {
    std::vector<PodId> out;
    const ElasticRanks ranks = state.elastic.ranks_of(job);
    if (!ranks.is_settled || ranks.is_ending) return out;
    if (job.elastic.is_paused(state.now())) return out;  // its controller would ignore a request
    std::int64_t least = std::max<std::int64_t>(state.gangs.gang_size(job).value_or(1), 1);
    if (has_fault(SeededFault::shrink_below_the_minimum)) --least;
    for (auto entry = job.pods.rbegin(); entry != job.pods.rend(); ++entry) {
        const PodRow& pod = state.pod(*entry);
        if (pod.is_surplus || pod.bind.state != BindState::bound) continue;
        const NodeRow& node = state.node(pod.node);
        const bool answers = node.known && node.facts.ready;
        if (pod.facts.rank < least || !answers) break;
        out.push_back(*entry);
    }
    return out;
}

// Adds the pod to `gone` if each queue then still keeps its guarantee.
bool may_go(const ClusterState& state, const JobRow& job, PodId pod, ReleasedUsage& gone) {
    const JobRow& of = state.job(state.pod(pod).job);
    gone.add(state, pod, 1);
    if (of.queue == job.queue) return true;
    const reclaim::Sides meet = reclaim::sides(state, job.queue, of.queue);
    if (!meet.other.exists()) return true;
    if (reclaim::chain_keeps_guarantees(state, of.queue, meet.other, gone)) return true;
    gone.add(state, pod, -1);
    return false;
}

EvictionUnit unit_of(const ClusterState& state, PodId id) {
    EvictionUnit unit;
    unit.job = state.pod(id).job;
    unit.add(state, id);
    unit.weight = unit.cost_gpu_ms;
    unit.in_order = true;
    return unit;
}

struct Giver {
    const JobRow* job = nullptr;
    std::vector<PodId> ranks;
    std::int64_t loss = 0;  // if marginal speedup decides the job's size; otherwise unknown
};

// Computes for each job what it would lose by releasing that many GPUs.
void count_losses(const ClusterState& state, GpuMilli ask, std::vector<Giver>& givers) {
    RemainingWork left;
    std::vector<SizeChoice> choices;
    GpuMilli room;
    for (std::size_t i = 0; i < givers.size(); ++i) {
        if (!is_sized_by_speedup(state, *givers[i].job)) continue;
        choices.push_back(choice_of(state, *givers[i].job, left));
        choices.back().of = i;
        room += choices.back().each * choices.back().now;
    }
    weigh_work(choices, room);
    for (const SizeChoice& choice : choices) {
        Giver& giver = givers[choice.of];
        const std::int64_t each = choice.each.value();
        const std::int64_t going =
            std::min<std::int64_t>((ask.value() + each - 1) / each, std::ssize(giver.ranks));
        giver.loss = loss_of(choice, choice.now - static_cast<std::int32_t>(going),
                             state.policy().resize_pays_within);
    }
}

}  // namespace

bool may_try(const ClusterState& state, const JobRow& job, const Load& ask) {
    const auto& elastic = state.elastic.elastic_jobs();
    if (elastic.empty()) return false;
    const bool is_anywhere = is_about_quota(state, job, ask);
    return std::any_of(elastic.begin(), elastic.end(), [&](const Arrived& one) {
        return is_in_the_way(job, state.job(one.second), is_anywhere);
    });
}

void find_surplus(const ClusterState& state, const JobRow& job, const Load& ask, Candidates& out) {
    find_candidates(state, job.pool, [](const JobRow&) { return false; }, out);
    const bool is_anywhere = is_about_quota(state, job, ask);
    std::vector<Giver> givers;
    std::vector<PoolId> pools{job.pool};
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        const JobRow& other = state.job(id);
        if (!other.queue.exists() || other.priority >= kSystemPriority) continue;
        if (!is_in_the_way(job, other, is_anywhere)) continue;
        if (!yields_to(state, job, ask.gpus, other)) continue;
        if (std::find(pools.begin(), pools.end(), other.pool) == pools.end()) {
            pools.push_back(other.pool);
        }
        if (auto ranks = surplus_of(state, other); !ranks.empty()) {
            givers.push_back({&other, std::move(ranks)});
        }
    }
    count_losses(state, ask.gpus, givers);
    std::sort(givers.begin(), givers.end(), [](const Giver& a, const Giver& b) {
        return std::tuple{a.job->priority, a.loss, b.ranks.size(), b.job->arrival} <
               std::tuple{b.job->priority, b.loss, a.ranks.size(), a.job->arrival};
    });
    // If the loss of jobs is known, it also decides on each node; the start time does not.
    const bool is_known = std::any_of(givers.begin(), givers.end(),
                                      [](const Giver& giver) { return giver.loss > 0; });
    ReleasedUsage gone;
    std::vector<PodId> terminating_pods;
    for (const PoolId pool : pools) {  // queues keep their guarantees without terminating pods, too
        state.pods.read_terminating(pool, terminating_pods);
        for (const PodId pod : terminating_pods) gone.add(state, pod, 1);
    }
    for (std::size_t place = 0; place < givers.size(); ++place) {
        for (const PodId pod : givers[place].ranks) {
            if (!may_go(state, job, pod, gone)) break;
            out.units.push_back(unit_of(state, pod));
            if (is_known) out.units.back().weight = static_cast<std::int64_t>(place) + 1;
        }
    }
}

}  // namespace gpuctl::shrink
