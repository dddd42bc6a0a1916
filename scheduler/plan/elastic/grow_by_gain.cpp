// Elastic jobs that state their speed by size (docs/adr/0017). sizes_by_gain.hpp computes the sizes
// with the largest marginal speedup. This file finds the capacity to divide, checks that the
// resulting sizes can be placed, and applies them. Jobs that shrink release ranks first; when that
// room is idle, other jobs grow. Waiting jobs have precedence over all of them.

#include <algorithm>

#include "scheduler/model/amount_text.hpp"
#include "scheduler/plan/elastic/grow.hpp"

namespace gpuctl {
namespace {

// If an aim cannot be reached, because of limits or because no node has room, the sizes are chosen
// again.
constexpr int kTriesMost = 6;

std::string times(std::int64_t milli_now, std::int64_t milli_then) {
    const std::int64_t tenths = milli_then * 10 / std::max<std::int64_t>(milli_now, 1);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " times as fast";
}

// "from 4 to 8 ranks it is 1.7 times as fast, and ends 22m sooner"; "with 2 ranks it is as fast as
// with 3": a size between two listed sizes is as fast as the smaller one.
std::string why_it_gains(const SizeChoice& choice) {
    const std::int32_t now = speed_of(*choice.speeds, choice.now);
    const std::int32_t then = speed_of(*choice.speeds, choice.aim);
    if (now == then) {
        return "with " + amounts::ranks_text(choice.aim) + " it is as fast as with " +
               std::to_string(choice.now);
    }
    const Duration sooner = time_left_with(choice, choice.now) - time_left_with(choice, choice.aim);
    std::string text = "from " + std::to_string(choice.now) + " to " +
                       amounts::ranks_text(choice.aim) + " it is " + times(now, then);
    if (sooner > Duration{}) text += " and ends " + amounts::span(sooner) + " sooner";
    return text;
}

}  // namespace

std::int64_t Grower::grow_by_gain(Commit& commit, PoolTurn& turn, bool nobody_waits) {
    const ClusterState& state = commit.state();
    read_choices(state, nobody_waits);
    if (choices_.empty()) return 0;
    bool is_reached = false;
    for (int tries = 0; tries < kTriesMost && !is_reached; ++tries) {
        if (tries == kTriesMost / 2) {  // from now on no job shrinks
            for (SizeChoice& choice : choices_) choice.least = choice.now;
        }
        const GpuMilli room = room_for_gain(state, turn.pool);
        if (tries == 0) weigh_work(choices_, room);
        choose_sizes(choices_, room, state.policy().resize_pays_within);
        is_reached = lay_out_aims(commit.overlay(), turn);
    }
    if (!is_reached) {  // no job shrinks any more; `most` of each job is what found room
        for (SizeChoice& choice : choices_) choice.aim = std::min(choice.aim, choice.most);
    }
    const bool must_wait = give(commit) || is_room_to_come(state, turn.pool);
    return take(commit, turn, must_wait);
}

void Grower::read_choices(const ClusterState& state, bool nobody_waits) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        Grown& one = jobs_[i];
        if (!one.is_by_gain) continue;
        const Column column = index_column(state, one);
        const bool is_alike =
            choosing_.empty() || index_column(state, jobs_[choosing_.front().of]) == column;
        one.is_by_gain = is_alike;  // other GPU types are of no use to these jobs
        if (is_alike) read_choice(state, i, nobody_waits);
    }
}

Column Grower::index_column(const ClusterState& state, const Grown& one) {
    const PodId first = state.job(one.job).pods.front();
    return state.pods.shapes().at(state.pod(first).shape).index_column;
}

void Grower::read_choice(const ClusterState& state, std::size_t index, bool may_give) {
    const Grown& one = jobs_[index];
    const JobRow& job = state.job(one.job);
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    const ElasticRanks ranks = state.elastic.ranks_of(job);
    Choice how;
    how.of = index;
    how.like = job.pods.front();
    for (const PodId pod : job.pods) {
        if (state.pod(pod).bind.state == BindState::bound && !state.pod(pod).is_surplus) {
            how.like = pod;
        }
    }
    SizeChoice choice = choice_of(state, job, left_);
    how.starts = !job.gang.started || !one.further.empty();
    const bool is_heard = elastic.not_before <= state.now();
    if (how.starts) {
        const auto made = static_cast<std::int32_t>(one.further.size());
        choice.most = made > 0 ? choice.now + made : spec.replicas_max;
    } else if (elastic.wanted > ranks.there) {  // its further ranks are being created
        choice.now = choice.least = choice.most = elastic.wanted;
    } else if (ranks.is_settled && !ranks.is_ending && is_heard) {
        const auto least = static_cast<std::int32_t>(state.gangs.gang_size(job).value_or(1));
        const bool gives = may_give && elastic.give_from <= state.now();
        if (gives) choice.least = std::min(choice.now, std::max(least, spec.replicas_min));
        const bool grows = elastic.wanted == elastic.size && elastic.grow_from <= state.now();
        if (grows) choice.most = std::max(choice.now, spec.replicas_max);
    }
    if (choice.now == 0) return;
    choosing_.push_back(how);
    choices_.push_back(choice);
}

// The GPUs that these jobs may divide: what they hold, what terminating pods release, and what is
// idle. Elastic jobs that do not state their speed get an even part of the idle GPUs.
GpuMilli Grower::room_for_gain(const ClusterState& state, PoolId pool) const {
    const Capacity& capacity = state.nodes.capacity();
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
            const std::int64_t gpus = state.pods.shapes().at(pod.shape).gpus.value();
            const bool is_going = pod.is_surplus && pod.eviction.beneficiary == ObjectKey{};
            if (!pod.node.exists()) continue;
            if (pod.is_surplus ? is_going : one.is_by_gain) held += gpus;
        }
        if (!one.is_by_gain && job.holding.pods < job.record->spec.replicas_max) ++others;
    }
    const auto choosing = static_cast<std::int64_t>(choosing_.size());
    return GpuMilli{held + idle * choosing / (choosing + others)};
}

bool Grower::lay_out_aims(const Overlay& overlay, PoolTurn& turn) {
    const ClusterState& state = overlay.state;
    Transaction attempt{overlay.capacity, log_};
    Relief with;
    const auto lift = [&](PodId id) {
        const PodRow& pod = state.pod(id);
        const Needs& needs = state.pods.shapes().at(pod.shape).needs;
        attempt.take(pod.node.value(), needs, -1, pod.gpu_device);
        with.add(state, id, 1);
    };
    const auto lay_out = [&](JobId job, PodId like, std::int64_t ranks) {
        pod_.assign(static_cast<std::size_t>(ranks), like);
        if (!fits(overlay, turn, state.job(job), &with)) return false;
        for (const Placement& spot : placed_) {
            attempt.take(spot.node.value(), state.pods.shapes().at(state.pod(like).shape).needs, 1,
                         spot.device);
            with.add(state, like, -1, spot.node);
        }
        return true;
    };
    // ranks that are terminating already
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        const JobRow& job = state.job(id);
        for (const PodId pod : job.pods) {
            const PodRow& row = state.pod(pod);
            const bool is_going = row.is_surplus && row.eviction.beneficiary == ObjectKey{};
            if (job.pool == turn.pool && is_going && row.node.exists()) lift(pod);
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
    // Ranks that a job has requested and that do not exist yet have the first claim on the room.
    for (const Grown& one : jobs_) {
        const JobRow& job = state.job(one.job);
        if (!one.further.empty() || !job.gang.started) continue;
        const std::int64_t to_come = job.elastic.wanted - state.elastic.ranks_of(job).there;
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

// Shrinks the jobs with more ranks than their aim.
bool Grower::give(Commit& commit) {
    const ClusterState& state = commit.state();
    std::string taker;
    for (std::size_t i = 0; i < choices_.size() && taker.empty(); ++i) {
        if (choices_[i].aim <= choices_[i].now) continue;
        const JobId job = jobs_[choosing_[i].of].job;
        taker = "job " + to_string(state.job(job).key) +
                " gains more from them: " + why_it_gains(choices_[i]);
    }
    bool gives = false;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const SizeChoice& choice = choices_[i];
        if (choice.aim >= choice.now) continue;
        gives = true;
        const std::string why =
            taker.empty()
                ? why_it_gains(choice)
                : "gave " + amounts::ranks_text(choice.now - choice.aim) + " because " + taker;
        commit.resize(jobs_[choosing_[i].of].job, choice.aim, why);
    }
    return gives;
}

// A job that has only just started may grow at once if all the room is idle, since growth costs
// nothing yet. Other jobs are resized once, when all ranks of their aim have room.
std::int64_t Grower::take(Commit& commit, PoolTurn& turn, bool must_wait) {
    const ClusterState& state = commit.state();
    std::int64_t placed = 0;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const SizeChoice& choice = choices_[i];
        Grown& one = jobs_[choosing_[i].of];
        if (choice.aim <= choice.now) continue;
        if (choosing_[i].starts) {
            const auto ranks = static_cast<std::size_t>(choice.aim - choice.now);
            if (one.further.size() < ranks) continue;
            pod_.assign(one.further.begin(),
                        one.further.begin() + static_cast<std::ptrdiff_t>(ranks));
            if (fits(commit.overlay(), turn, state.job(one.job), nullptr)) {
                placed += place_pods(commit, turn, one, placed_);
            }
        } else if (!must_wait && state.job(one.job).elastic.wanted < choice.aim) {
            commit.resize(one.job, choice.aim, why_it_gains(choice));
        }
    }
    return placed;
}

}  // namespace gpuctl
