// Elastic jobs that state their speed by size (docs/adr/0017). sizes_by_speedup.hpp computes the
// sizes with the largest marginal speedup. This file finds the capacity to divide, checks that the
// resulting sizes can be placed, and applies them. Jobs that shrink release ranks first; when that
// room is idle, other jobs grow. Waiting jobs have precedence over all of them.

#include <algorithm>
#include <optional>

#include "scheduler/plan/elastic/grow.hpp"

namespace gpuctl {
namespace {

// If an aim cannot be reached, because of limits or because no node has room, the sizes are chosen
// again.
constexpr int kTriesMost = 6;

Column index_column(const ClusterState& state, JobId job) {
    return state.shape_of(state.job(job).pods.front()).index_column;
}

// A surplus rank whose room is nominated for no job: it goes to the jobs that gain.
bool is_ceded(const PodRow& pod) {
    return pod.is_surplus && pod.node.exists() && pod.eviction.preemptor == ObjectKey{};
}

std::vector<PodId> ceded_ranks(const ClusterState& state, PoolId pool) {
    std::vector<PodId> out;
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        if (state.job(id).pool != pool) continue;
        for (const PodId pod : state.job(id).pods) {
            if (is_ceded(state.pod(pod))) out.push_back(pod);
        }
    }
    return out;
}

// It is as fast as before if both sizes are between the same listed sizes.
cause::Gain gain_of(const SizeChoice& choice) {
    const std::int64_t now = speed_of(*choice.speeds, choice.now);
    const std::int64_t then = speed_of(*choice.speeds, choice.aim);
    if (now == then) return {choice.now, choice.aim, true, 10, {}};
    return {choice.now, choice.aim, false, then * 10 / std::max<std::int64_t>(now, 1),
            remaining_time_with(choice, choice.now) - remaining_time_with(choice, choice.aim)};
}

}  // namespace

std::int64_t Grower::grow_by_speedup(Commit& commit, PoolTurn& turn, bool no_job_waits) {
    const ClusterState& state = commit.state();
    read_choices(state, no_job_waits);
    if (choices_.empty()) return 0;
    bool is_reached = false;
    for (int tries = 0; tries < kTriesMost && !is_reached; ++tries) {
        if (tries == kTriesMost / 2) {  // from now on no job shrinks
            for (SizeChoice& choice : choices_) choice.least = choice.now;
        }
        const GpuMilli room = room_for_speedup(state, turn.pool);
        if (tries == 0) weigh_work(choices_, room);
        choose_sizes(choices_, room, state.policy().resize_pays_within);
        is_reached = lay_out_aims(commit.overlay(), turn);
    }
    if (!is_reached) {  // no job shrinks any more; `most` of each job is what found room
        for (SizeChoice& choice : choices_) choice.aim = std::min(choice.aim, choice.most);
    }
    const bool must_wait = shrink_to_aims(commit) || is_room_to_come(state, turn.pool);
    return grow_to_aims(commit, turn, must_wait);
}

void Grower::read_choices(const ClusterState& state, bool no_job_waits) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        Grown& one = jobs_[i];
        if (!one.is_by_speedup) continue;
        // Other GPU types are of no use to the jobs that choose already.
        one.is_by_speedup = choices_.empty() || index_column(state, job_of(choices_.front())) ==
                                                    index_column(state, one.job);
        if (one.is_by_speedup) read_choice(state, i, no_job_waits);
    }
}

void Grower::read_choice(const ClusterState& state, std::size_t index, bool may_give) {
    Grown& one = jobs_[index];
    const JobRow& job = state.job(one.job);
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    const ElasticRanks ranks = state.elastic.ranks_of(job);
    one.like = rank_like(state, job);
    one.starts = !has_started(job.gang.phase()) || !one.further.empty();
    SizeChoice choice = choice_of(state, job, left_);
    choice.of = index;
    const bool is_heard = !elastic.is_paused(state.now());
    if (one.starts) {
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
    if (choice.now > 0) choices_.push_back(choice);
}

// The GPUs that these jobs may divide: what they hold, what terminating pods release, and what is
// idle. Elastic jobs that do not state their speed get an even part of the idle GPUs.
GpuMilli Grower::room_for_speedup(const ClusterState& state, PoolId pool) const {
    const Capacity& capacity = state.nodes.capacity();
    const Column column = index_column(state, job_of(choices_.front()));
    std::int64_t idle = 0;
    for (const std::uint32_t slot : capacity.nodes_of(pool)) {
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
            const bool is_theirs = one.is_by_speedup && pod.node.exists() && !pod.is_surplus;
            if (is_theirs || is_ceded(pod)) held += state.shape_of(pod).gpus.value();
        }
        if (!one.is_by_speedup && job.holding.pods < job.record->spec.replicas_max) ++others;
    }
    const std::int64_t choosing = std::ssize(choices_);
    return GpuMilli{held + idle * choosing / (choosing + others)};
}

bool Grower::is_room_to_come(const ClusterState& state, PoolId pool) {
    return !ceded_ranks(state, pool).empty();
}

bool Grower::lay_out_aims(const Overlay& overlay, PoolTurn& turn) {
    const ClusterState& state = overlay.state;
    Trial trial{*this, overlay, turn};
    for (const PodId pod : ceded_ranks(state, turn.pool)) trial.lift(pod);
    for (const SizeChoice& choice : choices_) {
        if (choice.aim >= choice.now) continue;
        for (const PodId pod : state.job(job_of(choice)).pods) {
            const PodRow& row = state.pod(pod);
            const bool goes = row.facts.rank >= choice.aim && !row.is_surplus;
            if (goes && row.node.exists()) trial.lift(pod);
        }
    }
    for (const Grown& one : jobs_) {
        const JobRow& job = state.job(one.job);
        if (one.further.empty() && has_started(job.gang.phase())) {
            trial.place_ordered(one.job, job.pods.front());
        }
    }
    bool is_reached = true;
    for (SizeChoice& choice : choices_) {
        if (choice.aim <= choice.now) continue;
        const Grown& one = jobs_[choice.of];
        if (trial.place(one.job, one.like, choice.aim - choice.now)) continue;
        is_reached = false;
        choice.most = choice.now;
        for (const SizeSpeed& size : *choice.speeds) {
            if (size.ranks <= choice.now || size.ranks >= choice.aim) continue;
            if (!trial.place(one.job, one.like, size.ranks - choice.most)) break;
            choice.most = size.ranks;
        }
    }
    return is_reached;
}

// Shrinks the jobs with more ranks than their aim.
bool Grower::shrink_to_aims(Commit& commit) {
    const ClusterState& state = commit.state();
    std::optional<cause::OtherGainsMore> taker;
    for (const SizeChoice& choice : choices_) {
        if (choice.aim <= choice.now) continue;
        taker = cause::OtherGainsMore{0, state.job(job_of(choice)).key, gain_of(choice)};
        break;
    }
    bool gives = false;
    for (const SizeChoice& choice : choices_) {
        if (choice.aim >= choice.now) continue;
        gives = true;
        if (taker) taker->ranks = choice.now - choice.aim;
        commit.resize(job_of(choice), choice.aim, taker ? Cause{*taker} : Cause{gain_of(choice)});
    }
    return gives;
}

// A job that has only just started may grow at once if all the room is idle, since growth costs
// nothing yet. Other jobs are resized once, when all ranks of their aim have room.
std::int64_t Grower::grow_to_aims(Commit& commit, PoolTurn& turn, bool must_wait) {
    const ClusterState& state = commit.state();
    std::int64_t placed = 0;
    for (const SizeChoice& choice : choices_) {
        Grown& one = jobs_[choice.of];
        if (choice.aim <= choice.now) continue;
        if (one.starts) {
            const std::int64_t ranks = choice.aim - choice.now;
            if (std::ssize(one.further) < ranks) continue;
            pod_.assign(one.further.begin(), one.further.begin() + ranks);
            if (fits(commit.overlay(), turn, state.job(one.job), nullptr)) {
                placed += place_pods(commit, turn, one, placed_);
            }
        } else if (!must_wait && state.job(one.job).elastic.wanted < choice.aim) {
            commit.resize(one.job, choice.aim, gain_of(choice));
        }
    }
    return placed;
}

}  // namespace gpuctl
