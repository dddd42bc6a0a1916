#include "scheduler/plan/preempt/eviction_trial.hpp"

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/allocate/windows_ahead.hpp"

namespace gpuctl {

void EvictionTrial::wait_for(Duration grace) {
    if (!state_.maintenance.has_windows() ||
        has_fault(SeededFault::ignore_termination_before_windows))
        return;
    avoid_windows_ahead(state_, placer_, job_, pods_, nomination_lasts(grace));
    recount_columns();
}

bool EvictionTrial::fits(NodeId node) {
    if (counts_ranks() && ranks_missing() > 0) return false;
    const bool within = is_within_limits(state_, job_, ask_, &released_);
    if (!within && !has_fault(SeededFault::preempt_without_fit)) return false;
    avoided_.clear();
    add_barred_models(state_, job_, ask_, &released_, avoided_);
    avoided_.insert(avoided_.end(), placer_.barred_models().begin(), placer_.barred_models().end());
    placer_.avoid(avoided_);
    if (pods_.size() > 1 || (has_wishes() && !node.exists())) {
        return placer_.place_all(state_, capacity_, job_.pool, pods_, round_);
    }
    if (!node.exists()) {
        node = placer_.tightest(state_, capacity_.read(), job_.pool, shape(), 1);
    } else if (!may_use(node) || !capacity_.read().fits(node.value(), shape().needs)) {
        return false;
    }
    if (!node.exists()) return false;
    const std::int32_t device = capacity_.read().tightest_device(node.value(), shape().needs);
    round_.assign(1, {pods_.front(), node, device});
    return true;
}

}  // namespace gpuctl
