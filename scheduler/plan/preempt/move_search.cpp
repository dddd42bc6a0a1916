#include "scheduler/plan/preempt/move_search.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "scheduler/plan/allocate/windows_ahead.hpp"
#include "scheduler/plan/backfill/limited.hpp"
#include "scheduler/state/accounts/released_usage.hpp"

namespace gpuctl {
namespace {

// True if the unit has all pods of its job: none waits or terminates.
bool is_whole(const ClusterState& state, const EvictionUnit& unit) {
    const auto& pods = state.job(unit.job).pods;
    const auto here = std::count_if(pods.begin(), pods.end(), [&](PodId pod) {
        return state.pod(pod).bind.state != BindState::done;
    });
    return static_cast<std::size_t>(here) == unit.pods.size();
}

std::vector<PodId> pods_of(const EvictionUnit& unit) {
    return {unit.pods.begin(), unit.pods.end()};
}

std::int64_t binomial(std::size_t of, std::size_t choose) {
    std::int64_t sets = 1;
    for (std::size_t i = 1; i <= choose; ++i) {
        sets = sets * static_cast<std::int64_t>(of - choose + i) / static_cast<std::int64_t>(i);
    }
    return sets;
}

}  // namespace

MoveSearch::MoveSearch(const ClusterState& state, JobId job, std::vector<PodId> pods)
    : state_(state), job_(job), pods_(std::move(pods)), capacity_(state.nodes.capacity()) {
    if (pods_.empty() || !is_worth_it()) return;
    read_movable(job);
    choose_few();
}

// Elastic jobs are left out: they release ranks by themselves, and lose their growth when they
// start again.
void MoveSearch::read_movable(JobId job) {
    Candidates found;
    const ObjectKey& own = state_.job(job).key;
    find_candidates(
        state_, state_.job(job).pool,
        [&](const JobRow& other) { return other.key != own && !ElasticJobs::is_elastic(other); },
        found);
    std::map<JobId, EvictionUnit> by_job;
    for (const EvictionUnit& unit : found.units) {
        EvictionUnit& whole = by_job[unit.job];
        whole.job = unit.job;
        whole.pods.insert(whole.pods.end(), unit.pods.begin(), unit.pods.end());
        whole.cost_gpu_ms += unit.cost_gpu_ms;
        whole.gpus += unit.gpus;
    }
    for (auto& [id, unit] : by_job) {
        if (is_whole(state_, unit)) movable_.push_back(std::move(unit));
    }
    std::sort(movable_.begin(), movable_.end(), [&](const EvictionUnit& a, const EvictionUnit& b) {
        return std::tie(a.cost_gpu_ms, a.gpus, state_.job(a.job).key) <
               std::tie(b.cost_gpu_ms, b.gpus, state_.job(b.job).key);
    });
}

// False if a limit blocks the job, if it finds room as it is, or if the free capacity is not
// sufficient in sum: no move helps.
bool MoveSearch::is_worth_it() {
    const JobRow& job = state_.job(job_);
    if (!job.pool.exists() || !job.queue.exists()) return false;
    if (state_.accounts.limit_hit(job, load_of(state_, pods_)).exists()) return false;
    const Column column = state_.shape_of(pods_.front()).index_column;
    std::int64_t asked = 0;
    for (const PodId pod : pods_) {
        for (const Need& need : state_.shape_of(pod).needs) {
            if (need.column == column) asked += need.amount;
        }
    }
    std::int64_t free = 0;
    for (const std::uint32_t slot : capacity_.nodes_of(job.pool)) {
        free += std::max<std::int64_t>(capacity_.usable(column, slot), 0);
    }
    const bool adds_up = capacity_.kind(column) != ColumnKind::gpu_part;  // at most on one device
    std::vector<Placement> round;
    return (free >= asked || !adds_up) && !place_own(round);
}

Need MoveSearch::need_of_one_rank() const {
    const Shape& shape = state_.shape_of(pods_.front());
    for (const Need& need : shape.needs) {
        if (need.column != shape.index_column) continue;
        if (capacity_.kind(need.column) != ColumnKind::gpu_part) return need;
        return {capacity_.whole_column(need.column), kGpuMilliPerGpu};
    }
    return {shape.index_column, 1};
}

// Nodes that the job may use and where movable jobs hold what is missing for one more rank, the
// smallest missing amount first.
std::vector<MoveSearch::Lack> MoveSearch::nodes_by_lack(const Units& all,
                                                        const UnitsByNode& by_node) {
    const Need need = need_of_one_rank();
    const Shape& shape = state_.shape_of(pods_.front());
    const NodeSet& allowed = placer_.eligible(state_, shape);
    std::vector<Lack> lacking;
    for (const NodeId node : by_node.nodes()) {
        if (!allowed.contains(node.value())) continue;
        const std::int64_t free = capacity_.usable(need.column, node.value());
        const std::int64_t lack = need.amount - (free > 0 ? free % need.amount : free);
        std::int64_t held = 0;
        for (const std::uint32_t position : by_node.on(node)) {
            held += freed(state_, *all[position], node, need.column);
        }
        if (held >= lack) lacking.push_back({lack, node});
    }
    std::sort(lacking.begin(), lacking.end());
    return lacking;
}

void MoveSearch::choose_on(const Lack& lack, const Units& all, const UnitsByNode& by_node,
                           Units& chosen) const {
    const Column column = need_of_one_rank().column;
    std::vector<std::pair<std::int64_t, std::uint32_t>> largest_first;
    for (const std::uint32_t position : by_node.on(lack.node)) {
        largest_first.emplace_back(-freed(state_, *all[position], lack.node, column), position);
    }
    std::sort(largest_first.begin(), largest_first.end());
    std::int64_t missing = lack.amount;
    for (const auto& [less, position] : largest_first) {
        if (missing <= 0) break;
        missing += less;
        const EvictionUnit* unit = all[position];
        if (std::find(chosen.begin(), chosen.end(), unit) == chosen.end()) chosen.push_back(unit);
    }
}

// Chooses jobs on nodes where little is missing, then the cheapest jobs, which may make room for
// the first.
void MoveSearch::choose_few() {
    const Units all = movable_units();
    few_ = all;
    if (all.size() <= kJobsMost) return;
    const UnitsByNode by_node{state_, all};
    std::vector<bool> is_chosen(all.size(), false);
    std::size_t chosen = 0;
    const auto choose = [&](std::size_t position) {
        if (chosen < kJobsMost && !is_chosen[position]) {
            is_chosen[position] = true;
            ++chosen;
        }
    };
    for (const Lack& lack : nodes_by_lack(all, by_node)) {
        for (const std::uint32_t position : by_node.on(lack.node)) choose(position);
    }
    for (std::size_t position = 0; position < all.size(); ++position) choose(position);
    few_.clear();
    for (std::size_t position = 0; position < all.size(); ++position) {
        if (is_chosen[position]) few_.push_back(all[position]);
    }
}

Units MoveSearch::movable_units() const {
    Units out;
    for (const EvictionUnit& unit : movable_) out.push_back(&unit);
    return out;
}

std::vector<MoveSearch::Set> MoveSearch::sets_of(std::size_t size) const {
    std::vector<Set> sets;
    const std::uint32_t end = std::uint32_t{1} << few_.size();
    for (std::uint32_t members = (std::uint32_t{1} << size) - 1; members < end;) {
        Set set{0, members};
        for (std::size_t i = 0; i < few_.size(); ++i) {
            if ((members >> i & 1U) != 0) set.cost_gpu_ms += few_[i]->cost_gpu_ms;
        }
        sets.push_back(set);
        // then the next number with as many bits
        const std::uint32_t lowest = members & (~members + 1);
        const std::uint32_t ripple = members + lowest;
        members = ripple | ((members ^ ripple) / lowest >> 2U);
    }
    std::sort(sets.begin(), sets.end());
    return sets;
}

bool MoveSearch::find(const std::function<bool(const MovePlan&)>& accept) {
    if (few_.empty()) return false;
    std::int64_t looked_at = 0;
    const std::size_t most = std::min(few_.size(), kMovedMost);
    for (std::size_t size = 1; size <= most; ++size) {
        looked_at += binomial(few_.size(), size);
        if (looked_at > static_cast<std::int64_t>(kSetsMost)) return find_many(accept);
        for (const Set& set : sets_of(size)) {
            Units moved;
            for (std::size_t i = 0; i < few_.size(); ++i) {
                if ((set.members >> i & 1U) != 0) moved.push_back(few_[i]);
            }
            MovePlan plan;
            if (lay_out(moved, plan) && accept(plan)) return true;
        }
    }
    return false;
}

bool MoveSearch::find_many(const std::function<bool(const MovePlan&)>& accept) {
    const Units all = movable_units();
    const UnitsByNode by_node{state_, all};
    const auto leaves_room = [this](const Units& moved) {
        Transaction gone{capacity_, gone_log_};
        lift(moved, gone);
        std::vector<Placement> round;
        return place_own(round);
    };
    Units moved;
    for (const Lack& lack : nodes_by_lack(all, by_node)) {
        choose_on(lack, all, by_node, moved);
        if (moved.size() > kMovedMost) return false;
        if (!moved.empty() && leaves_room(moved)) break;
    }
    for (std::size_t i = moved.size(); i-- > 0;) {
        Units fewer = moved;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (!fewer.empty() && leaves_room(fewer)) moved = std::move(fewer);
    }
    MovePlan plan;
    return !moved.empty() && lay_out(moved, plan) && accept(plan);
}

void MoveSearch::lift(const Units& moved, Transaction& gone) const {
    for (const EvictionUnit* unit : moved) {
        for (const PodId id : unit->pods) {
            const PodRow& pod = state_.pod(id);
            gone.occupy(pod.node.value(), state_.shape_of(pod).needs, -1, pod.gpu_device);
        }
    }
}

bool MoveSearch::lay_out(const Units& moved, MovePlan& out) {
    Transaction gone{capacity_, gone_log_};
    lift(moved, gone);
    out.moved = moved;
    std::sort(
        out.moved.begin(), out.moved.end(), [this](const EvictionUnit* a, const EvictionUnit* b) {
            const GpuMilli of_a = state_.shape_of(a->pods.front()).gpus;
            const GpuMilli of_b = state_.shape_of(b->pods.front()).gpus;
            return std::tie(of_b, state_.job(a->job).key) < std::tie(of_a, state_.job(b->job).key);
        });
    if (!place_own(out.round)) return false;
    return can_place_together(moved) ? place_together(out) : place_in_turn(out);
}

// Reads the models that the job's queues may not hold more of, after it has left its present nodes.
void MoveSearch::read_avoided(JobId id, const std::vector<PodId>& pods) {
    avoided_.clear();
    ReleasedUsage released;
    for (const PodId pod : pods) {
        if (state_.pod(pod).node.exists()) released.add(state_, pod, 1);
    }
    add_barred_models(state_, state_.job(id), load_of(state_, pods), &released, avoided_);
}

bool MoveSearch::place(JobId id, const std::vector<PodId>& pods, std::vector<Placement>& round) {
    const JobRow& job = state_.job(id);
    read_avoided(id, pods);
    placer_.avoid(avoided_);
    placer_.keep_outside(std::nullopt);
    avoid_windows_ahead(state_, placer_, job, pods);
    return placer_.place_all(state_, capacity_, job.pool, pods, round);
}

bool MoveSearch::place_own(std::vector<Placement>& round) { return place(job_, pods_, round); }

bool MoveSearch::place_in_turn(MovePlan& out) {
    Transaction taken{capacity_, taken_log_};
    const auto occupy_round = [&](const std::vector<Placement>& round) {
        for (const Placement& one : round) {
            taken.occupy(one.node.value(), state_.shape_of(one.pod).needs, 1, one.device);
        }
    };
    occupy_round(out.round);
    out.places.clear();
    for (const EvictionUnit* unit : out.moved) {
        const std::vector<PodId> pods = pods_of(*unit);
        if (state_.shape_of(pods.front()).topology.any()) continue;
        std::vector<Placement> round;
        const bool is_gang = state_.gangs.gang_size(state_.job(unit->job)).has_value();
        const std::size_t step = is_gang ? pods.size() : 1;  // other jobs start pod by pod
        for (std::size_t at = 0; at < pods.size(); at += step) {
            const auto begin = pods.begin() + static_cast<std::ptrdiff_t>(at);
            if (!place(unit->job, {begin, begin + static_cast<std::ptrdiff_t>(step)}, round)) {
                return false;
            }
            occupy_round(round);
            out.places.insert(out.places.end(), round.begin(), round.end());
        }
    }
    return true;
}

// True if only room and the rules of each pod affect the placement.
bool MoveSearch::is_plain(const std::vector<PodId>& pods, JobId job) {
    read_avoided(job, pods);
    return avoided_.empty() && std::all_of(pods.begin(), pods.end(), [this](PodId pod) {
               const Shape& shape = state_.shape_of(pod);
               return !shape.topology.any() && !state_.rules_of(shape).takes_several_models();
           });
}

bool MoveSearch::can_place_together(const Units& moved) {
    const auto is_plain_unit = [this](const EvictionUnit* unit) {
        return is_plain(pods_of(*unit), unit->job);
    };
    return !state_.maintenance.has_windows() && is_plain(pods_, job_) &&
           std::all_of(moved.begin(), moved.end(), is_plain_unit) && together_left_-- > 0;
}

bool MoveSearch::place_together(MovePlan& out) {
    std::vector<PodId> all = pods_;
    for (const EvictionUnit* unit : out.moved) {
        all.insert(all.end(), unit->pods.begin(), unit->pods.end());
    }
    placer_.avoid({});
    placer_.keep_outside(std::nullopt);
    std::vector<Placement> round;
    if (!placer_.place_all(state_, capacity_, state_.job(job_).pool, all, round)) return false;
    const auto own_end = round.begin() + static_cast<std::ptrdiff_t>(pods_.size());
    out.round.assign(round.begin(), own_end);
    out.places.assign(own_end, round.end());
    return true;
}

}  // namespace gpuctl
