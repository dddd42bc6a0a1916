// Elastic jobs that say how fast they are by size (ADR 0017): which sizes gain most is arithmetic
// (sizes_by_gain.hpp); here it is found out what there is to divide, shown that the answer can be
// had, and carried out. First who is to have fewer gives, then, when that room is idle, the others
// take; whoever waits for its turn goes before all of them.

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/grow.hpp"

namespace gpuctl {
namespace {

// Where an aim is out of reach, by limits or because no node has the room, the others choose again.
constexpr int kTriesMost = 6;

std::string times(std::int64_t milli_now, std::int64_t milli_then) {
    const std::int64_t tenths = milli_then * 10 / std::max<std::int64_t>(milli_now, 1);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " times as fast";
}

// "from 4 to 8 ranks it is 1.7 times as fast, and ends 22m sooner"; "with 2 ranks it is as fast as
// with 3", where sizes between those that somebody measured count as the smaller one
std::string why_it_gains(const SizeChoice& choice) {
    const std::int32_t now = speed_of(*choice.speeds, choice.now);
    const std::int32_t then = speed_of(*choice.speeds, choice.aim);
    if (now == then) {
        return "with " + explain_parts::ranks_text(choice.aim) + " it is as fast as with " +
               std::to_string(choice.now);
    }
    const Duration sooner = time_left_with(choice, choice.now) - time_left_with(choice, choice.aim);
    std::string text = "from " + std::to_string(choice.now) + " to " +
                       explain_parts::ranks_text(choice.aim) + " it is " + times(now, then);
    if (sooner > Duration{}) text += ", and ends " + explain_parts::span(sooner) + " sooner";
    return text;
}

}  // namespace

void Grower::grow_by_gain(ClusterState& state, PoolId pool, bool nobody_waits,
                          EngineFigures& figures, EffectList& effects) {
    read_choices(state, nobody_waits);
    if (choices_.empty()) return;
    bool is_reached = false;
    for (int tries = 0; tries < kTriesMost && !is_reached; ++tries) {
        if (tries == kTriesMost / 2) {  // then with what is idle alone
            for (SizeChoice& choice : choices_) choice.least = choice.now;
        }
        const GpuMilli room = room_for_gain(state, pool);
        if (tries == 0) weigh_work(choices_, room);
        choose_sizes(choices_, room, state.policy().resize_pays_within);
        is_reached = lay_out_aims(state, pool);
    }
    if (!is_reached) {  // nobody gives any more, and so much of each aim did find room
        for (SizeChoice& choice : choices_) choice.aim = std::min(choice.aim, choice.most);
    }
    const bool must_wait = give(state, effects) || is_room_to_come(state, pool);
    take(state, must_wait, figures, effects);
}

void Grower::read_choices(const ClusterState& state, bool nobody_waits) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        Grown& one = jobs_[i];
        if (!one.is_by_gain) continue;
        const Column column = index_column(state, one);
        const bool is_alike =
            choosing_.empty() || index_column(state, jobs_[choosing_.front().of]) == column;
        one.is_by_gain = is_alike;  // GPUs of another kind are nothing to give to these
        if (is_alike) read_choice(state, i, nobody_waits);
    }
}

Column Grower::index_column(const ClusterState& state, const Grown& one) {
    const PodId first = state.job(one.job).pods.front();
    return state.shapes().at(state.pod(first).shape).index_column;
}

void Grower::read_choice(const ClusterState& state, std::size_t index, bool may_give) {
    const Grown& one = jobs_[index];
    const JobRow& job = state.job(one.job);
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    const ElasticRanks ranks = state.ranks_of(job);
    Choice how;
    how.of = index;
    how.like = job.pods.front();
    for (const PodId pod : job.pods) {
        if (state.pod(pod).standing == PodStanding::bound && !state.pod(pod).is_surplus) {
            how.like = pod;
        }
    }
    SizeChoice choice = choice_of(state, job, left_);
    how.starts = !job.gang_started || !one.further.empty();
    const bool is_heard = elastic.not_before <= state.now();
    if (how.starts) {
        const auto made = static_cast<std::int32_t>(one.further.size());
        choice.most = made > 0 ? choice.now + made : spec.replicas_max;
    } else if (elastic.wanted > ranks.there) {  // they are being made
        choice.now = choice.least = choice.most = elastic.wanted;
    } else if (ranks.is_settled && !ranks.is_ending && is_heard) {
        const auto least = static_cast<std::int32_t>(state.gang_size(job).value_or(1));
        const bool gives = may_give && elastic.give_from <= state.now();
        if (gives) choice.least = std::min(choice.now, std::max(least, spec.replicas_min));
        const bool grows = elastic.wanted == elastic.size && elastic.grow_from <= state.now();
        if (grows) choice.most = std::max(choice.now, spec.replicas_max);
    }
    if (choice.now == 0) return;
    choosing_.push_back(how);
    choices_.push_back(choice);
}

// What they hold, what is idle, and what is going; of that, jobs that do not say how fast they are
// have an even part.
GpuMilli Grower::room_for_gain(const ClusterState& state, PoolId pool) const {
    const Capacity& capacity = state.capacity();
    const Column column = index_column(state, jobs_[choosing_.front().of]);
    std::int64_t idle = 0;
    const NodeSet& nodes = capacity.nodes_of(pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        const NodeFacts& facts = state.node(NodeId{slot}).facts;
        if (!facts.ready || facts.unschedulable) continue;
        idle += std::max<std::int64_t>(capacity.usable(column, slot), 0);
    }
    std::int64_t held = 0;
    std::int64_t others = 0;
    for (const Grown& one : jobs_) {
        const JobRow& job = state.job(one.job);
        for (const PodId id : job.pods) {
            const PodRow& pod = state.pod(id);
            const std::int64_t gpus = state.shapes().at(pod.shape).gpus.value();
            const bool is_going = pod.is_surplus && pod.evicted_for == ObjectKey{};
            if (!pod.node.exists()) continue;
            if (pod.is_surplus ? is_going : one.is_by_gain) held += gpus;
        }
        if (!one.is_by_gain && job.pods_held < job.record->spec.replicas_max) ++others;
    }
    const auto choosing = static_cast<std::int64_t>(choosing_.size());
    return GpuMilli{held + idle * choosing / (choosing + others)};
}

bool Grower::lay_out_aims(ClusterState& state, PoolId pool) {
    Transaction attempt{state.capacity_for_planning(), log_};
    Relief with;
    const auto lift = [&](PodId id) {
        const PodRow& pod = state.pod(id);
        const Needs& needs = state.shapes().at(pod.shape).needs;
        attempt.take(pod.node.value(), needs, -1, pod.gpu_device);
        with.add(state, id, 1);
    };
    const auto lay_out = [&](JobId job, PodId like, std::int64_t ranks) {
        pod_.assign(static_cast<std::size_t>(ranks), like);
        if (!fits(state, state.job(job), &with)) return false;
        for (const Placement& spot : placed_) {
            attempt.take(spot.node.value(), state.shapes().at(state.pod(like).shape).needs, 1,
                         spot.device);
            with.add(state, like, -1, spot.node);
        }
        return true;
    };
    for (const auto& [arrival, id] : state.elastic_jobs()) {  // who is going already
        const JobRow& job = state.job(id);
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            const bool is_going = row.is_surplus && row.evicted_for == ObjectKey{};
            if (job.pool == pool && is_going && row.node.exists()) lift(pod);
        }
    }
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        if (choices_[i].aim >= choices_[i].now) continue;
        for (const PodId pod : state.job(jobs_[choosing_[i].of].job).pods) {
            const PodRow& row = state.pod(pod);
            const bool goes = row.facts.rank >= choices_[i].aim && !row.is_surplus;
            if (goes && row.node.exists()) lift(pod);
        }
    }
    // What others were told to have and have not yet is theirs.
    for (const Grown& one : jobs_) {
        const JobRow& job = state.job(one.job);
        if (!one.further.empty() || !job.gang_started) continue;
        const std::int64_t to_come = job.elastic.wanted - state.ranks_of(job).there;
        for (std::int64_t i = 0; i < to_come; ++i) {
            if (!lay_out(one.job, job.pods.front(), 1)) break;
        }
    }
    bool is_reached = true;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        SizeChoice& choice = choices_[i];
        if (choice.aim <= choice.now) continue;
        const JobId job = jobs_[choosing_[i].of].job;
        if (lay_out(job, choosing_[i].like, choice.aim - choice.now)) continue;
        is_reached = false;
        choice.most = choice.now;
        for (const SizeSpeed& size : *choice.speeds) {
            if (size.ranks <= choice.now || size.ranks >= choice.aim) continue;
            if (!lay_out(job, choosing_[i].like, size.ranks - choice.most)) break;
            choice.most = size.ranks;
        }
    }
    return is_reached;
}

// Who has more than it is to have tells its controller now.
bool Grower::give(ClusterState& state, EffectList& effects) {
    std::string taker;
    for (std::size_t i = 0; i < choices_.size() && taker.empty(); ++i) {
        if (choices_[i].aim <= choices_[i].now) continue;
        const JobId job = jobs_[choosing_[i].of].job;
        taker = "job " + to_string(state.job(job).key) +
                " gains more by them: " + why_it_gains(choices_[i]);
    }
    bool gives = false;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const SizeChoice& choice = choices_[i];
        if (choice.aim >= choice.now) continue;
        gives = true;
        const std::string why =
            taker.empty()
                ? why_it_gains(choice)
                : "gave " + explain_parts::ranks_text(choice.now - choice.aim) + ", as " + taker;
        state.resize(jobs_[choosing_[i].of].job, choice.aim, why, effects);
    }
    return gives;
}

// One that has only just started may have more at once, as it costs nothing yet, if all of it is
// idle. The others change size once, when all that they are to have is.
void Grower::take(ClusterState& state, bool must_wait, EngineFigures& figures,
                  EffectList& effects) {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const SizeChoice& choice = choices_[i];
        Grown& one = jobs_[choosing_[i].of];
        if (choice.aim <= choice.now) continue;
        if (choosing_[i].starts) {
            const auto ranks = static_cast<std::size_t>(choice.aim - choice.now);
            if (one.further.size() < ranks) continue;
            pod_.assign(one.further.begin(),
                        one.further.begin() + static_cast<std::ptrdiff_t>(ranks));
            if (fits(state, state.job(one.job), nullptr)) place_pods(state, one, figures, effects);
        } else if (!must_wait && state.job(one.job).elastic.wanted < choice.aim) {
            state.resize(one.job, choice.aim, why_it_gains(choice), effects);
        }
    }
}

}  // namespace gpuctl
