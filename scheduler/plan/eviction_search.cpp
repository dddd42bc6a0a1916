#include "scheduler/plan/eviction_search.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/price.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

// The world with some pods gone.
class EvictionSearch::Trial {
public:
    Trial(ClusterState& state, Placer& placer, std::vector<Transaction::Entry>& log, JobId job,
          const std::vector<PodId>& pods)
        : state_(state),
          placer_(placer),
          job_(state.job(job)),
          pods_(pods),
          gone_(state.capacity_for_planning(), log) {
        for (const PodId pod : pods) {
            const Shape& shape = state.shapes().at(state.pod(pod).shape);
            ask_.add({shape.gpus, shape.cpu, shape.memory});
        }
    }

    void lift(PodId id) { change(id, 1); }
    void lift(const EvictionUnit& unit) {
        for (const PodId pod : unit.pods) change(pod, 1);
    }
    void put_back(const EvictionUnit& unit) {
        for (const PodId pod : unit.pods) change(pod, -1);
    }

    // Does the whole of it start now, on this node when one is named? `round()` says where.
    bool fits(NodeId node) {
        bool within = true;
        visit_limits(
            state_, job_, ask_, [&within](const LimitHit&) { return within = false; }, &relief_);
        if (!within && !planted(PlantedBug::preempt_in_vain)) return false;
        avoided_.clear();
        visit_model_limits(
            state_, job_, ask_, [this](const LimitHit& hit) { avoided_.push_back(hit.model); },
            &relief_);
        placer_.avoid(avoided_);
        Capacity& capacity = state_.capacity_for_planning();
        const bool has_wishes = shape_of_first().topology.any();
        if (pods_.size() > 1 || (has_wishes && !node.exists())) {
            return placer_.place_all(state_, capacity, job_.pool, pods_, round_);
        }
        const Shape& shape = shape_of_first();
        if (!node.exists()) {
            node = placer_.tightest(state_, capacity, job_.pool, shape, 1);
        } else if (!may_use(node) || !capacity.fits(node.value(), shape.needs)) {
            return false;
        }
        round_.assign(1, {pods_.front(), node});
        return node.exists();
    }
    // May its one pod use this node at all?
    [[nodiscard]] bool may_use(NodeId node) const {
        const NodeFacts& facts = state_.node(node).facts;
        return placer_.eligible(state_, shape_of_first()).contains(node.value()) &&
               std::none_of(avoided_.begin(), avoided_.end(),
                            [&](std::string_view model) {
                                return same_gpu_model(facts.gpu_model, model);
                            }) &&
               placer_.keeps_topology(state_, pods_.front(), node);
    }
    [[nodiscard]] const ClusterState& state() const { return state_; }
    [[nodiscard]] bool is_one_pod() const { return pods_.size() == 1; }
    [[nodiscard]] const std::vector<Placement>& round() const { return round_; }

private:
    [[nodiscard]] const Shape& shape_of_first() const {
        return state_.shapes().at(state_.pod(pods_.front()).shape);
    }
    void change(PodId id, std::int64_t sign) {
        const PodRow& pod = state_.pod(id);
        gone_.take(pod.node.value(), state_.shapes().at(pod.shape).needs, -sign, pod.gpu_device);
        relief_.add(state_, id, sign);
    }

    ClusterState& state_;
    Placer& placer_;
    const JobRow& job_;
    const std::vector<PodId>& pods_;
    Load ask_;
    std::vector<std::string_view> avoided_;
    Transaction gone_;
    Relief relief_;
    std::vector<Placement> round_;
};

namespace {

bool is_of_one_row(const EvictionUnit& a, const EvictionUnit& b) {
    return a.in_order && b.in_order && a.job == b.job;
}

bool goes_before_another_of(const std::vector<const EvictionUnit*>& units,
                            const EvictionUnit& one) {
    return std::any_of(units.begin(), units.end(),
                       [&](const EvictionUnit* unit) { return is_of_one_row(one, *unit); });
}

bool goes_before_another(const std::vector<const EvictionUnit*>& units, std::size_t at) {
    return std::any_of(
        units.begin() + static_cast<std::ptrdiff_t>(at) + 1, units.end(),
        [&](const EvictionUnit* later) { return is_of_one_row(*units[at], *later); });
}

}  // namespace

EvictionSearch::Units EvictionSearch::narrow(Trial& trial, const Units& units, NodeId node) {
    std::size_t lifted = 0;
    const auto lift_first = [&](std::size_t count) {
        while (lifted < count) trial.lift(*units[lifted++]);
        while (lifted > count) trial.put_back(*units[--lifted]);
    };
    std::size_t too_few = 0;
    std::size_t enough = std::min<std::size_t>(1, units.size());
    for (;; enough = std::min(2 * enough, units.size())) {
        lift_first(enough);
        if (enough > 0 && trial.fits(node)) break;
        too_few = enough;
        if (enough < units.size()) continue;
        lift_first(0);
        return {};
    }
    while (enough - too_few > 1) {
        const std::size_t middle = too_few + (enough - too_few) / 2;
        lift_first(middle);
        (trial.fits(node) ? enough : too_few) = middle;
    }
    lift_first(enough);
    Units chosen(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(enough));
    // The dearest first; the last one is needed, as one fewer were not enough.
    for (std::size_t i = enough - 1; i-- > 0;) {
        if (goes_before_another(chosen, i)) continue;
        trial.put_back(*chosen[i]);
        if (trial.fits(node)) {
            chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            trial.lift(*chosen[i]);
        }
    }
    for (const EvictionUnit* unit : chosen) trial.put_back(*unit);
    return chosen;
}

namespace {

std::int64_t weight(const std::vector<const EvictionUnit*>& units) {
    std::int64_t sum = 0;
    for (const EvictionUnit* unit : units) sum += unit->weight;
    return sum;
}

bool is_better(const std::vector<const EvictionUnit*>& a,
               const std::vector<const EvictionUnit*>& b) {
    if (a.empty() || b.empty()) return !a.empty();
    if (weight(a) != weight(b)) return weight(a) < weight(b);
    return a.size() < b.size();
}

}  // namespace

EvictionSearch::Units EvictionSearch::narrow_by_node(Trial& trial, const Units& units) {
    std::set<NodeId> nodes;
    for (const EvictionUnit* unit : units) {
        for (const PodId pod : unit->pods) nodes.insert(trial.state().pod(pod).node);
    }
    Units best;
    for (const NodeId node : nodes) {
        Units here;
        const auto is_here = [&](const EvictionUnit& unit) {
            return std::any_of(unit.pods.begin(), unit.pods.end(),
                               [&](PodId pod) { return trial.state().pod(pod).node == node; });
        };
        for (std::size_t i = units.size(); i-- > 0;) {  // from behind: some go before others
            const bool goes_along = !here.empty() && goes_before_another_of(here, *units[i]);
            if (is_here(*units[i]) || goes_along) here.push_back(units[i]);
        }
        std::reverse(here.begin(), here.end());
        Units found = narrow(trial, here, node);
        if (is_better(found, best)) best = std::move(found);
    }
    return best;
}

bool EvictionSearch::find(ClusterState& state, JobId job, const std::vector<PodId>& pods,
                          const Candidates& candidates, EvictionPlan& out) {
    Trial trial{state, placer_, log_, job, pods};
    for (const PodId pod : candidates.leaving) trial.lift(pod);
    if (trial.fits(NodeId::none())) return false;  // it need only wait
    Units units;
    for (const EvictionUnit& unit : candidates.units) units.push_back(&unit);
    Units chosen = narrow(trial, units, NodeId::none());
    if (chosen.empty()) return false;
    if (trial.is_one_pod()) {
        Units cheaper = narrow_by_node(trial, units);
        if (is_better(cheaper, chosen)) chosen = std::move(cheaper);
    }
    for (const EvictionUnit* unit : chosen) trial.lift(*unit);
    if (!trial.fits(NodeId::none())) return false;
    out.round = trial.round();
    out.victims.clear();
    for (const EvictionUnit* unit : chosen) {
        for (const PodId id : unit->pods) {
            const PodRow& pod = state.pod(id);
            out.victims.push_back(
                {id, lost_gpu_ms(pod.facts, state.shapes().at(pod.shape).gpus, state.now())});
        }
    }
    return true;
}

}  // namespace gpuctl
