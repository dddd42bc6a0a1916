#include "scheduler/plan/preempt/eviction_trial.hpp"

#include "scheduler/base/planted.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

void EvictionTrial::wait_for(Duration grace) {
    if (!state_.maintenance.has_windows() || planted(PlantedBug::start_at_once_after_a_claim))
        return;
    const WindowSet barred = state_.maintenance.barred(state_.maintenance.stay_of(job_, pods_),
                                                       state_.now(), claim_lasts(grace));
    const bool is_any = (barred & ~state_.maintenance.calendar().closed) != 0;
    placer_.keep_outside(is_any ? std::optional{barred} : std::nullopt);
    count_anew();
}

bool EvictionTrial::fits(NodeId node) {
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
    if (pods_.size() > 1 || (has_wishes() && !node.exists())) {
        return placer_.place_all(state_, capacity_, job_.pool, pods_, round_);
    }
    if (!node.exists()) {
        node = placer_.tightest(state_, capacity_, job_.pool, shape(), 1);
    } else if (!may_use(node) || !capacity_.fits(node.value(), shape().needs)) {
        return false;
    }
    if (!node.exists()) return false;
    round_.assign(1, {pods_.front(), node, capacity_.tightest_device(node.value(), shape().needs)});
    return true;
}

}  // namespace gpuctl
