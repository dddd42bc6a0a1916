#pragma once
// The state with some pods evicted. It is tried on the columns themselves and rolled back at the
// end.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/backfill/limited.hpp"
#include "scheduler/plan/overlay.hpp"
#include "scheduler/plan/preempt/victims.hpp"
#include "scheduler/state/accounts/released_usage.hpp"

namespace gpuctl {

class EvictionTrial {
public:
    EvictionTrial(const Overlay& overlay, Placer& placer, std::vector<Transaction::Entry>& log,
                  JobId job, const std::vector<PodId>& pods)
        : state_(overlay.state),
          capacity_(overlay.capacity),
          placer_(placer),
          job_(state_.job(job)),
          pods_(pods),
          gone_(overlay.capacity, log),
          outside_before_(placer.outside()) {
        for (const PodId pod : pods) ask_.add(state_.shape_of(pod).load());
        const ShapeId like = state_.pod(pods.front()).shape;
        const bool is_uniform = std::all_of(
            pods.begin(), pods.end(), [&](PodId pod) { return state_.pod(pod).shape == like; });
        if (pods.size() > 1 && is_uniform) count_ranks();
    }

    ~EvictionTrial() { placer_.keep_outside(outside_before_); }
    EvictionTrial(const EvictionTrial&) = delete;
    EvictionTrial& operator=(const EvictionTrial&) = delete;

    // The job starts when its victims have terminated, which may take as long as `grace`. From this
    // call on the job fits only if no window blocks it at that time either.
    void wait_for(Duration grace);
    // Called when the columns were changed outside of this trial.
    void recount_columns() {
        if (counts_ranks()) count_ranks();
    }

    void lift(PodId id) { change(id, 1); }
    void lift(const EvictionUnit& unit) {
        for (const PodId pod : unit.pods) change(pod, 1);
    }
    void put_back(const EvictionUnit& unit) {
        for (const PodId pod : unit.pods) change(pod, -1);
    }

    // Does the whole request start now, on `node` if one is given? `round()` has the result.
    bool fits(NodeId node);
    // May the job's one pod use this node at all?
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
    // Does a limit block the job in the present trial?
    [[nodiscard]] bool is_limited() const {
        return is_limited_somewhere(state_, job_, ask_, &released_);
    }
    // For a gang of equal ranks the trial keeps count of the ranks that find room: most trials end
    // with that count.
    [[nodiscard]] bool counts_ranks() const { return !ranks_on_.empty(); }
    [[nodiscard]] std::int64_t ranks_missing() const {
        return static_cast<std::int64_t>(pods_.size()) - ranks_;
    }
    [[nodiscard]] PoolId pool() const { return job_.pool; }
    [[nodiscard]] const NodeSet& allowed() const { return allowed_; }
    [[nodiscard]] const ClusterState& state() const { return state_; }
    [[nodiscard]] bool is_one_pod() const { return pods_.size() == 1; }
    // True if topology rules or the order of its GPU models affect the job's placement.
    [[nodiscard]] bool has_wishes() const {
        const PlacementRules& rules = state_.rules_of(shape());
        return rules.topology.any() || rules.takes_several_models();
    }
    // of the first pod; if ranks are counted, of all pods
    [[nodiscard]] const Shape& shape() const { return state_.shape_of(pods_.front()); }
    [[nodiscard]] const std::vector<Placement>& round() const { return round_; }

private:
    void change(PodId id, std::int64_t sign) {
        const PodRow& pod = state_.pod(id);
        gone_.occupy(pod.node.value(), state_.shape_of(pod).needs, -sign, pod.gpu_device);
        released_.add(state_, id, sign);
        if (counts_ranks()) count_ranks(pod.node.value());
    }
    void count_ranks() {
        allowed_ = placer_.eligible(state_, shape());
        ranks_ = 0;
        ranks_on_.assign(state_.nodes.node_slots(), 0);
        const NodeSet& nodes = state_.nodes.capacity().nodes_of(job_.pool);
        for (const std::uint32_t slot : nodes.common(allowed_)) count_ranks(slot);
    }
    void count_ranks(std::uint32_t slot) {
        // To lift a quota, ranks of the job's namespace may be evicted in other pools.
        if (!allowed_.contains(slot) || state_.node(NodeId{slot}).pool != job_.pool) return;
        const auto most = static_cast<std::int64_t>(pods_.size());
        const std::int64_t now = state_.nodes.capacity().fitting(slot, shape().needs, most);
        ranks_ += now - std::exchange(ranks_on_[slot], now);
    }

    const ClusterState& state_;
    TrialCapacity capacity_;
    Placer& placer_;
    const JobRow& job_;
    const std::vector<PodId>& pods_;
    Load ask_;
    std::vector<std::string_view> avoided_;
    Transaction gone_;
    std::optional<WindowSet> outside_before_;
    ReleasedUsage released_;
    std::vector<Placement> round_;
    NodeSet allowed_;
    std::vector<std::int64_t> ranks_on_;  // by slot; empty: not counted
    std::int64_t ranks_ = 0;              // the sum of ranks_on_
};

}  // namespace gpuctl
