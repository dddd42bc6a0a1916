#include "scheduler/plan/cycle/make_room.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/backfill/limited.hpp"
#include "scheduler/plan/elastic/shrink.hpp"
#include "scheduler/plan/preempt/preempt.hpp"
#include "scheduler/plan/preempt/stranded.hpp"
#include "scheduler/plan/reclaim/in_the_way.hpp"
#include "scheduler/plan/reclaim/reclaim.hpp"
#include "scheduler/queue/queue_book.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kNodesTriedMost = 32;
constexpr std::size_t kNodesTriedMostForOne = 256;  // only pods there are examined

// The nodes of the victims, and their devices if they use fractions of GPUs (else kNoDevice).
struct Places {
    std::map<NodeId, Units> by_node;
    std::map<std::pair<NodeId, std::int32_t>, Units> by_device;
};

Places places_of(const ClusterState& state, const std::vector<EvictionUnit>& units) {
    Places out;
    const auto add_unit = [](Units& here, const EvictionUnit& unit) {
        if (here.empty() || here.back() != &unit) here.push_back(&unit);
    };
    for (const EvictionUnit& unit : units) {
        for (const PodId id : unit.pods) {
            const PodRow& pod = state.pod(id);
            add_unit(out.by_node[pod.node], unit);
            add_unit(out.by_device[{pod.node, pod.gpu_device}], unit);
        }
    }
    return out;
}

}  // namespace

bool RoomMaker::may_try(const ClusterState& state, const RoomRequest& want,
                        std::uint16_t& watch) const {
    const JobRow& job = state.job(want.job);
    const reclaim::GuaranteeState guarantee = reclaim::guarantee_state(state, job, want.ask.gpus);
    if (guarantee.has_guarantee) watch |= ClassBlock::kQueueShrinks;
    if (guarantee.is_owed) watch |= ClassBlock::kPoolVictims;
    if (state.pod(want.pods.front()).facts.preempts) watch |= ClassBlock::kVictims;
    const bool may_stop_longer = ShorterJob::may_try(state, job, want.pods.front());
    const bool may_shrink = shrink::may_try(state, job, want.ask);
    const bool may_undo = stranded::may_try(state, job) || stranded::may_restart(job);
    if (may_stop_longer || may_shrink || may_undo) watch |= ClassBlock::kPoolVictims;
    if (!may_stop_longer && !may_shrink && !may_undo &&
        !reclaim::may_try(state, job, want.ask.gpus) &&
        !reclaim::may_try_to_clear(state, job, want.ask.gpus) &&
        !preempt::may_try(state, job, want.pods.front())) {
        return false;
    }
    // The limits that block the job are watched already, with one exception: without the victims a
    // queue may hold less than it reserves, and then the reserved rest limits other queues.
    const std::vector<QueueId>& queues = state.pool(job.pool).queues;
    const bool reserves = std::any_of(queues.begin(), queues.end(), [&state](QueueId queue) {
        return state.queue(queue).not_lent > GpuMilli{};
    });
    const bool reserves_models = !state.pool(job.pool).reserved_models.empty();
    watch |= reserves || reserves_models ? ClassBlock::kPoolLending : ClassBlock::kPoolGains;
    return true;
}

void RoomMaker::spare_reserved_nodes(const ClusterState& state, const RoomRequest& want) {
    if (want.withheld == nullptr) return;
    const auto is_there = [&](PodId pod) { return want.withheld->is_on(state.pod(pod).node); };
    // jobs that keep a rank: ranks are released in order, so its other units stay, too
    std::vector<JobId> stay;
    std::erase_if(candidates_.units, [&](const EvictionUnit& unit) {
        const bool has_to_stay = unit.job == want.withheld->head_reservation().job ||
                                 std::any_of(unit.pods.begin(), unit.pods.end(), is_there) ||
                                 std::find(stay.begin(), stay.end(), unit.job) != stay.end();
        if (has_to_stay && unit.in_order) stay.push_back(unit.job);
        return has_to_stay;
    });
}

void RoomMaker::collect(Commit& commit, const RoomRequest& want, Consent consent,
                        const std::function<bool(const JobRow&)>& may_stop) {
    const ClusterState& state = commit.state();
    find_candidates(state, state.job(want.job).pool, may_stop, candidates_, consent);
    retry_later(commit, want);
    spare_reserved_nodes(state, want);
}

bool RoomMaker::find(const Overlay& overlay, const RoomRequest& want) {
    return search_.find(overlay, want.job, want.pods, candidates_, want.withheld, plan_);
}

const EvictionPlan* RoomMaker::make(Commit& commit, const RoomRequest& want) {
    EvictionCause cause = EvictionCause::preempted;
    if (shrink(commit.overlay(), want)) {
        cause = EvictionCause::shrunk;
    } else if (undo_stranded(commit, want)) {
        cause = EvictionCause::stranded;
    } else if (restart_elsewhere(commit, want)) {
        return &plan_;  // the job's pods wait for the next cycle, and no room is nominated
    } else if (reclaim_lent(commit, want)) {
        cause = EvictionCause::reclaimed;
    } else if (!preempt(commit, want) && !stop_longer(commit, want)) {
        return nullptr;
    }
    commit.nominate(want.job, plan_.round, plan_.victims, cause);
    return &plan_;
}

bool RoomMaker::shrink(const Overlay& overlay, const RoomRequest& want) {
    const ClusterState& state = overlay.state;
    if (!shrink::may_try(state, state.job(want.job), want.ask) ||
        has_fault(SeededFault::never_shrink))
        return false;
    shrink::find_surplus(state, state.job(want.job), want.ask, candidates_);
    spare_reserved_nodes(state, want);
    return !candidates_.units.empty() && find(overlay, want);
}

bool RoomMaker::undo_stranded(Commit& commit, const RoomRequest& want) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(want.job);
    if (!stranded::may_try(state, job)) return false;
    collect(commit, want, Consent::not_needed,
            [&](const JobRow& other) { return stranded::may_stop(job, other); });
    if (candidates_.units.empty() || !find(commit.overlay(), want)) return false;
    for (Victim& victim : plan_.victims) {
        victim.why = stranded::why(state, job, state.job(state.pod(victim.pod).job));
    }
    return true;
}

// The job itself has lacked ranks for too long, because it is bound to a rack or a GPU model, and
// all of it fits elsewhere: it is evicted and starts again.
bool RoomMaker::restart_elsewhere(Commit& commit, const RoomRequest& want) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(want.job);
    if (want.withheld != nullptr || !stranded::may_restart(job)) return false;
    collect(commit, want, Consent::not_needed,
            [&](const JobRow& other) { return other.key == job.key; });
    if (candidates_.units.size() != 1) return false;
    const EvictionUnit& own = candidates_.units.front();
    std::vector<PodId> all(own.pods.begin(), own.pods.end());
    all.insert(all.end(), want.pods.begin(), want.pods.end());
    const bool fits = search_.fits_after_eviction(commit.overlay(), want.job, all, own);
    if (!fits && !has_fault(SeededFault::restart_gangs_without_room)) return false;
    plan_.round.clear();
    plan_.victims.clear();
    for (const PodId pod : own.pods) plan_.victims.push_back({pod});
    commit.evict({own.pods.begin(), own.pods.end()}, EvictionCause::stranded,
                 stranded::why_restarted(state, job));
    return true;
}

bool RoomMaker::reclaim_lent(Commit& commit, const RoomRequest& want) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(want.job);
    if (has_fault(SeededFault::never_reclaim)) return false;
    const bool is_lent = reclaim::may_try(state, job, want.ask.gpus);
    const bool may_clear = reclaim::may_try_to_clear(state, job, want.ask.gpus);
    if (!is_lent && !may_clear) return false;
    candidates_.clear();
    state.pods.read_terminating(job.pool, candidates_.terminating_pods);
    if (is_lent) {
        find_candidates(
            state, job.pool,
            [&](const JobRow& other) {
                return reclaim::may_stop(state, job, want.ask.gpus, other);
            },
            candidates_);
    }
    if (may_clear) in_the_way::add(state, job, want.pods, want.ask.gpus, candidates_);
    retry_later(commit, want);
    spare_reserved_nodes(state, want);
    if (!search_lent(commit.overlay(), want)) return false;
    for (Victim& victim : plan_.victims) {
        const PodRow& pod = state.pod(victim.pod);
        const bool is_gang = state.gangs.gang_of(state.job(pod.job)).has_value();
        const bool has_gpus = is_gang ? state.job(pod.job).holding.gpus > GpuMilli{}
                                      : state.shape_of(pod).gpus > GpuMilli{};
        if (!has_gpus) victim.why = in_the_way::why(state, job, want.pods, pod.node);
    }
    return true;
}

bool RoomMaker::search_lent(const Overlay& overlay, const RoomRequest& want) {
    const ClusterState& state = overlay.state;
    const JobRow& job = state.job(want.job);
    if (!RoomOnceGone{state, job.pool, candidates_, want.pods}.may_suffice()) return false;
    const std::vector<EvictionUnit> all = std::move(candidates_.units);
    std::vector<const EvictionUnit*> order;
    const auto search = [&](NodeId node) {
        reclaim::leave_guarantees(state, job, candidates_.terminating_pods, order);
        candidates_.units.clear();
        for (const EvictionUnit* unit : order) candidates_.units.push_back(*unit);
        const RoomOnceGone room{state, job.pool, candidates_, want.pods};
        return (node.exists() ? room.may_suffice_on(node) : room.may_suffice()) &&
               find(overlay, want);
    };
    for (const EvictionUnit& unit : all) order.push_back(&unit);
    if (search(NodeId::none())) return true;
    if (candidates_.units.size() == all.size()) return false;
    // The guarantees of other queues may not allow all of these evictions, and the cheapest victims
    // may be on nodes where they do not help. So the search goes node by node, with the pods of
    // that node first. For a single pod the pods of other nodes are not needed if no limit blocks
    // it. For fractions of GPUs the search goes device by device.
    const Places places = places_of(state, all);
    candidates_.units = all;
    const RoomOnceGone room{state, job.pool, candidates_, want.pods};
    const bool is_one = want.pods.size() == 1;
    const bool needs_here_only =
        is_one && !is_limited_somewhere(state, job, state.shape_of(want.pods.front()).load());
    std::size_t tries = 0;
    for (const auto& [place, here] : places.by_device) {
        const NodeId node = place.first;
        if (is_one && !room.may_suffice_on(node)) continue;
        if (tries++ == (needs_here_only ? kNodesTriedMostForOne : kNodesTriedMost)) return false;
        order = here;
        const auto add = [&, &first = here](const EvictionUnit* unit) {
            if (!std::binary_search(first.begin(), first.end(), unit)) order.push_back(unit);
        };
        if (needs_here_only) {
            const Units& on_node = places.by_node.at(node);
            std::for_each(on_node.begin(), on_node.end(), add);
        } else {
            for (const EvictionUnit& unit : all) add(&unit);
        }
        if (search(is_one ? node : NodeId::none())) return true;
    }
    return false;
}

bool RoomMaker::preempt(Commit& commit, const RoomRequest& want) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(want.job);
    if (!preempt::may_try(state, job, want.pods.front())) return false;
    if (want.pods.size() == 1 && want.withheld == nullptr &&
        search_.find_of_lower_priority(commit.overlay(), want.job, want.pods.front(), plan_)) {
        return true;
    }
    collect(commit, want, Consent::by_priority,
            [&](const JobRow& other) { return preempt::may_stop(job, other); });
    return find(commit.overlay(), want);
}

bool RoomMaker::stop_longer(Commit& commit, const RoomRequest& want) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(want.job);
    if (want.withheld != nullptr || !ShorterJob::may_try(state, job, want.pods.front()))
        return false;
    stoppable_.read(state, job.pool, left_);
    ShorterJob shorter_job{state, job, left_};
    shorter_job.choose(stoppable_, candidates_);
    retry_later(commit, want);
    if (!search_lent(commit.overlay(), want)) return false;
    for (Victim& victim : plan_.victims) {
        victim.why = shorter_job.why(state.job(state.pod(victim.pod).job));
    }
    return true;
}

void RoomMaker::retry_later(Commit& commit, const RoomRequest& want) const {
    const ClusterState& state = commit.state();
    if (!candidates_.look_again_at.happened()) return;
    commit.retry_preemption_at(state.job(want.job).queue, candidates_.look_again_at);
}

}  // namespace gpuctl
