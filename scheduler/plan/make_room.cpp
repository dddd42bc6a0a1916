#include "scheduler/plan/make_room.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/in_the_way.hpp"
#include "scheduler/plan/limited.hpp"
#include "scheduler/plan/preempt.hpp"
#include "scheduler/plan/reclaim.hpp"
#include "scheduler/plan/shrink.hpp"
#include "scheduler/plan/stranded.hpp"
#include "scheduler/queue/queue_book.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kNodesTriedMost = 32;
constexpr std::size_t kNodesTriedMostForOne = 256;  // only what stands there is looked at

Load ask_of(const ClusterState& state, PodId pod) {
    const Shape& shape = state.shapes().at(state.pod(pod).shape);
    return {shape.gpus, shape.cpu, shape.memory};
}

// Where they stand, in their order; those that hold no part of a GPU under kNoDevice.
struct Places {
    std::map<NodeId, Units> by_node;
    std::map<std::pair<NodeId, std::int32_t>, Units> by_device;
};

Places places_of(const ClusterState& state, const std::vector<EvictionUnit>& units) {
    Places out;
    const auto note = [](Units& here, const EvictionUnit& unit) {
        if (here.empty() || here.back() != &unit) here.push_back(&unit);
    };
    for (const EvictionUnit& unit : units) {
        for (const PodId id : unit.pods) {
            const PodRow& pod = state.pod(id);
            note(out.by_node[pod.node], unit);
            note(out.by_device[{pod.node, pod.gpu_device}], unit);
        }
    }
    return out;
}

}  // namespace

bool RoomMaker::may_try(const ClusterState& state, JobId id, const std::vector<PodId>& pods,
                        const Load& ask, std::uint16_t& watch) const {
    const JobRow& job = state.job(id);
    const reclaim::Standing standing = reclaim::standing(state, job, ask.gpus);
    if (standing.has_guarantee) watch |= ClassBlock::kQueueShrinks;
    if (standing.is_owed) watch |= ClassBlock::kPoolVictims;
    if (state.pod(pods.front()).facts.preempts) watch |= ClassBlock::kVictims;
    const bool may_stop_longer = Shorter::may_try(state, job, pods.front());
    const bool may_shrink = shrink::may_try(state, job, ask);
    const bool may_undo = stranded::may_try(state, job) || stranded::may_start_anew(job);
    if (may_stop_longer || may_shrink || may_undo) watch |= ClassBlock::kPoolVictims;
    if (!may_stop_longer && !may_shrink && !may_undo && !reclaim::may_try(state, job, ask.gpus) &&
        !reclaim::may_try_to_clear(state, job, ask.gpus) &&
        !preempt::may_try(state, job, pods.front())) {
        return false;
    }
    // Limits that are in its way are watched already, but for one: without its victims a queue may
    // hold less than it keeps, and then what others hold counts.
    const std::vector<QueueId>& queues = state.pool(job.pool).queues;
    const bool keeps = std::any_of(queues.begin(), queues.end(), [&state](QueueId queue) {
        return state.queue(queue).keeps > GpuMilli{};
    });
    const bool keeps_models = !state.pool(job.pool).models_kept.empty();
    watch |= keeps || keeps_models ? ClassBlock::kPoolLending : ClassBlock::kPoolGains;
    return true;
}

void RoomMaker::leave_what_is_promised(const ClusterState& state) {
    if (beside_ == nullptr) return;
    const auto is_there = [&](PodId pod) { return beside_->is_on(state.pod(pod).node); };
    std::vector<JobId> stay;  // whose further ranks go in order, and one that stays came before
    std::erase_if(candidates_.units, [&](const EvictionUnit& unit) {
        const bool has_to_stay = unit.job == beside_->promise().job ||
                                 std::any_of(unit.pods.begin(), unit.pods.end(), is_there) ||
                                 std::find(stay.begin(), stay.end(), unit.job) != stay.end();
        if (has_to_stay && unit.in_order) stay.push_back(unit.job);
        return has_to_stay;
    });
}

bool RoomMaker::find(ClusterState& state, JobId id, const std::vector<PodId>& pods) {
    search_.leave_room_of(beside_);
    return search_.find(state, id, pods, candidates_, plan_);
}

bool RoomMaker::make(ClusterState& state, JobId id, const std::vector<PodId>& pods, const Load& ask,
                     Reservation* beside, EffectList& effects) {
    beside_ = beside;
    if (shrink(state, id, pods, ask)) {
        state.claim(id, plan_.round, plan_.victims, EvictionCause::shrunk, effects);
        return true;
    }
    if (undo_stranded(state, id, pods)) {
        state.claim(id, plan_.round, plan_.victims, EvictionCause::stranded, effects);
        return true;
    }
    if (start_anew(state, id, pods, effects)) return true;
    EvictionCause cause = EvictionCause::reclaimed;
    if (!take_back(state, id, pods, ask.gpus)) {
        cause = EvictionCause::preempted;
        if (!preempt(state, id, pods) && !stop_longer(state, id, pods)) return false;
    }
    state.claim(id, plan_.round, plan_.victims, cause, effects);
    return true;
}

bool RoomMaker::shrink(ClusterState& state, JobId id, const std::vector<PodId>& pods,
                       const Load& ask) {
    if (!shrink::may_try(state, state.job(id), ask) || planted(PlantedBug::never_shrink))
        return false;
    shrink::find_surplus(state, state.job(id), ask, candidates_);
    leave_what_is_promised(state);
    return !candidates_.units.empty() && find(state, id, pods);
}

bool RoomMaker::undo_stranded(ClusterState& state, JobId id, const std::vector<PodId>& pods) {
    const JobRow& job = state.job(id);
    if (!stranded::may_try(state, job)) return false;
    find_candidates(
        state, job.pool, [&](const JobRow& other) { return stranded::may_stop(job, other); },
        candidates_, Consent::not_needed);
    look_again_later(state, id);
    leave_what_is_promised(state);
    if (candidates_.units.empty() || !find(state, id, pods)) return false;
    for (Victim& victim : plan_.victims) {
        victim.why = stranded::why(state, job, state.job(state.pod(victim.pod).job));
    }
    return true;
}

// It lacks ranks for too long itself, where it is bound to a rack or a GPU model: all of it fits
// elsewhere.
bool RoomMaker::start_anew(ClusterState& state, JobId id, const std::vector<PodId>& pods,
                           EffectList& effects) {
    const JobRow& job = state.job(id);
    if (beside_ != nullptr || !stranded::may_start_anew(job)) return false;
    find_candidates(
        state, job.pool, [&](const JobRow& other) { return other.key == job.key; }, candidates_,
        Consent::not_needed);
    look_again_later(state, id);
    if (candidates_.units.size() != 1) return false;
    const EvictionUnit& own = candidates_.units.front();
    std::vector<PodId> all(own.pods.begin(), own.pods.end());
    all.insert(all.end(), pods.begin(), pods.end());
    const bool fits = search_.fits_anew(state, id, all, own);
    if (!fits && !planted(PlantedBug::start_anew_in_vain)) return false;
    plan_.victims.clear();
    for (const PodId pod : own.pods) plan_.victims.push_back({pod});
    state.drain({own.pods.begin(), own.pods.end()}, EvictionCause::stranded,
                stranded::why_anew(state, job), effects);
    return true;
}

bool RoomMaker::take_back(ClusterState& state, JobId id, const std::vector<PodId>& pods,
                          GpuMilli ask) {
    const JobRow& job = state.job(id);
    if (planted(PlantedBug::never_reclaim)) return false;
    const bool is_lent = reclaim::may_try(state, job, ask);
    const bool may_clear = reclaim::may_try_to_clear(state, job, ask);
    if (!is_lent && !may_clear) return false;
    candidates_.clear();
    state.read_leaving(job.pool, candidates_.leaving);
    if (is_lent) {
        find_candidates(
            state, job.pool,
            [&](const JobRow& other) { return reclaim::may_stop(state, job, ask, other); },
            candidates_);
    }
    if (may_clear) in_the_way::add(state, job, pods, ask, candidates_);
    look_again_later(state, id);
    leave_what_is_promised(state);
    if (!search_lent(state, id, pods)) return false;
    for (Victim& victim : plan_.victims) {
        const PodRow& pod = state.pod(victim.pod);
        const bool is_gang = state.gang_of(state.job(pod.job)).has_value();
        const bool has_gpus = is_gang ? state.job(pod.job).gpus_held > GpuMilli{}
                                      : state.shapes().at(pod.shape).gpus > GpuMilli{};
        if (!has_gpus) victim.why = in_the_way::why(state, job, pods, pod.node);
    }
    return true;
}

bool RoomMaker::search_lent(ClusterState& state, JobId id, const std::vector<PodId>& pods) {
    const JobRow& job = state.job(id);
    if (!RoomOnceGone{state, job.pool, candidates_, pods}.may_suffice()) return false;
    const std::vector<EvictionUnit> all = std::move(candidates_.units);
    std::vector<const EvictionUnit*> order;
    const auto search = [&](NodeId node) {
        reclaim::leave_guarantees(state, job, candidates_.leaving, order);
        candidates_.units.clear();
        for (const EvictionUnit* unit : order) candidates_.units.push_back(*unit);
        const RoomOnceGone room{state, job.pool, candidates_, pods};
        return (node.exists() ? room.may_suffice_on(node) : room.may_suffice()) &&
               find(state, id, pods);
    };
    for (const EvictionUnit& unit : all) order.push_back(&unit);
    if (search(NodeId::none())) return true;
    if (candidates_.units.size() == all.size()) return false;
    // What a queue has lent may be too little for all of them, and the cheapest may stand where
    // they help nobody: node by node, those that stand there come first. One pod needs no others
    // where no limit is in its way. Parts of GPUs likewise, device by device.
    const Places places = places_of(state, all);
    candidates_.units = all;
    const RoomOnceGone room{state, job.pool, candidates_, pods};
    const bool is_one = pods.size() == 1;
    const bool needs_here_only =
        is_one && !is_limited_somewhere(state, job, ask_of(state, pods.front()));
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
            const Units& beside = places.by_node.at(node);
            std::for_each(beside.begin(), beside.end(), add);
        } else {
            for (const EvictionUnit& unit : all) add(&unit);
        }
        if (search(is_one ? node : NodeId::none())) return true;
    }
    return false;
}

bool RoomMaker::preempt(ClusterState& state, JobId id, const std::vector<PodId>& pods) {
    const JobRow& job = state.job(id);
    if (!preempt::may_try(state, job, pods.front())) return false;
    if (pods.size() == 1 && beside_ == nullptr &&
        search_.find_of_lower_priority(state, id, pods.front(), plan_)) {
        return true;
    }
    find_candidates(
        state, job.pool, [&](const JobRow& other) { return preempt::may_stop(job, other); },
        candidates_, Consent::by_priority);
    look_again_later(state, id);
    leave_what_is_promised(state);
    return find(state, id, pods);
}

bool RoomMaker::stop_longer(ClusterState& state, JobId id, const std::vector<PodId>& pods) {
    const JobRow& job = state.job(id);
    if (beside_ != nullptr || !Shorter::may_try(state, job, pods.front())) return false;
    stoppable_.read(state, job.pool, left_);
    Shorter shorter{state, job, left_};
    shorter.choose(stoppable_, candidates_);
    look_again_later(state, id);
    if (!search_lent(state, id, pods)) return false;
    for (Victim& victim : plan_.victims) {
        victim.why = shorter.why(state.job(state.pod(victim.pod).job));
    }
    return true;
}

void RoomMaker::look_again_later(ClusterState& state, JobId id) {
    if (!candidates_.look_again_at.happened()) return;
    state.look_again(state.job(id).queue, candidates_.look_again_at);
}

}  // namespace gpuctl
