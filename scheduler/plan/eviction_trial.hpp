#pragma once
// The world with some pods gone, tried on the columns themselves and put back when it is over.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/limited.hpp"
#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/victims.hpp"
#include "scheduler/state/limits.hpp"
#include "scheduler/state/relief.hpp"

namespace gpuctl {

// The world with some pods gone.
class EvictionTrial {
public:
    EvictionTrial(ClusterState& state, Placer& placer, std::vector<Transaction::Entry>& log,
                  JobId job, const std::vector<PodId>& pods)
        : state_(state),
          placer_(placer),
          job_(state.job(job)),
          pods_(pods),
          gone_(state.capacity_for_planning(), log),
          outside_before_(placer.outside()) {
        for (const PodId pod : pods) {
            const Shape& shape = state.shapes().at(state.pod(pod).shape);
            ask_.add({shape.gpus, shape.cpu, shape.memory});
        }
        const ShapeId like = state.pod(pods.front()).shape;
        const bool is_uniform = std::all_of(
            pods.begin(), pods.end(), [&](PodId pod) { return state.pod(pod).shape == like; });
        if (pods.size() > 1 && is_uniform) count_ranks();
    }

    ~EvictionTrial() { placer_.keep_outside(outside_before_); }
    EvictionTrial(const EvictionTrial&) = delete;
    EvictionTrial& operator=(const EvictionTrial&) = delete;

    // It starts when those who are stopped for it have gone, and they may take as long as this:
    // from now on it fits only where no window is in its way by then either.
    void wait_for(Duration grace) {
        if (!state_.has_windows() || planted(PlantedBug::start_at_once_after_a_claim)) return;
        const WindowSet barred =
            state_.barred(state_.stay_of(job_, pods_), state_.now(), claim_lasts(grace));
        const bool is_any = (barred & ~state_.calendar().closed) != 0;
        placer_.keep_outside(is_any ? std::optional{barred} : std::nullopt);
        count_anew();
    }
    // The columns were changed beside this.
    void count_anew() {
        if (counts_ranks()) count_ranks();
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
        if (counts_ranks() && ranks_missing() > 0) return false;
        bool within = true;
        visit_limits(
            state_, job_, ask_, [&within](const LimitHit&) { return within = false; }, &relief_);
        if (!within && !planted(PlantedBug::preempt_in_vain)) return false;
        avoided_.clear();
        visit_model_limits(
            state_, job_, ask_, [this](const LimitHit& hit) { avoided_.push_back(hit.model); },
            &relief_);
        avoided_.insert(avoided_.end(), placer_.kept_off().begin(), placer_.kept_off().end());
        placer_.avoid(avoided_);
        Capacity& capacity = state_.capacity_for_planning();
        if (pods_.size() > 1 || (has_wishes() && !node.exists())) {
            return placer_.place_all(state_, capacity, job_.pool, pods_, round_);
        }
        if (!node.exists()) {
            node = placer_.tightest(state_, capacity, job_.pool, shape(), 1);
        } else if (!may_use(node) || !capacity.fits(node.value(), shape().needs)) {
            return false;
        }
        if (!node.exists()) return false;
        round_.assign(1,
                      {pods_.front(), node, capacity.tightest_device(node.value(), shape().needs)});
        return true;
    }
    // May its one pod use this node at all?
    [[nodiscard]] bool may_use(NodeId node) const {
        const NodeFacts& facts = state_.node(node).facts;
        return state_.node(node).pool == job_.pool &&
               placer_.eligible(state_, shape()).contains(node.value()) &&
               std::none_of(avoided_.begin(), avoided_.end(),
                            [&](std::string_view model) {
                                return same_gpu_model(facts.gpu_model, model);
                            }) &&
               placer_.keeps_topology(state_, pods_.front(), node);
    }
    // Does a limit stand in its way as it is?
    [[nodiscard]] bool is_limited() const {
        return is_limited_somewhere(state_, job_, ask_, &relief_);
    }
    // For a gang of equal ranks it is known at any time how many would find room if nothing but
    // room mattered: most tries end there.
    [[nodiscard]] bool counts_ranks() const { return !ranks_on_.empty(); }
    [[nodiscard]] std::int64_t ranks_missing() const {
        return static_cast<std::int64_t>(pods_.size()) - ranks_;
    }
    [[nodiscard]] PoolId pool() const { return job_.pool; }
    [[nodiscard]] const NodeSet& allowed() const { return allowed_; }
    [[nodiscard]] const ClusterState& state() const { return state_; }
    [[nodiscard]] bool is_one_pod() const { return pods_.size() == 1; }
    // Where others of the job are, or the order of its GPU models, has a say in where it goes.
    [[nodiscard]] bool has_wishes() const {
        const PlacementRules& rules = state_.shapes().constraint(shape().constraint).rules;
        return rules.topology.any() || rules.takes_several_models();
    }
    [[nodiscard]] const Shape& shape() const {  // of the first; of all where ranks are counted
        return state_.shapes().at(state_.pod(pods_.front()).shape);
    }
    [[nodiscard]] const std::vector<Placement>& round() const { return round_; }

private:
    void change(PodId id, std::int64_t sign) {
        const PodRow& pod = state_.pod(id);
        gone_.take(pod.node.value(), state_.shapes().at(pod.shape).needs, -sign, pod.gpu_device);
        relief_.add(state_, id, sign);
        if (counts_ranks()) count_ranks(pod.node.value());
    }
    void count_ranks() {
        allowed_ = placer_.eligible(state_, shape());
        ranks_ = 0;
        ranks_on_.assign(state_.node_slots(), 0);
        const NodeSet& nodes = state_.capacity().nodes_of(job_.pool);
        for (std::uint32_t slot = nodes.next_common(allowed_, 0); slot != NodeSet::kEnd;
             slot = nodes.next_common(allowed_, slot + 1)) {
            count_ranks(slot);
        }
    }
    void count_ranks(std::uint32_t slot) {
        // Ranks of its namespace may go in other pools, for a quota.
        if (!allowed_.contains(slot) || state_.node(NodeId{slot}).pool != job_.pool) return;
        const auto most = static_cast<std::int64_t>(pods_.size());
        const std::int64_t now = state_.capacity().fitting(slot, shape().needs, most);
        ranks_ += now - std::exchange(ranks_on_[slot], now);
    }

    ClusterState& state_;
    Placer& placer_;
    const JobRow& job_;
    const std::vector<PodId>& pods_;
    Load ask_;
    std::vector<std::string_view> avoided_;
    Transaction gone_;
    std::optional<WindowSet> outside_before_;
    Relief relief_;
    std::vector<Placement> round_;
    NodeSet allowed_;
    std::vector<std::int64_t> ranks_on_;  // by slot; empty: they are not counted
    std::int64_t ranks_ = 0;              // the sum of them
};

}  // namespace gpuctl
