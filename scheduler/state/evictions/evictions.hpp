#pragma once
// Pods that are stopped: requests, their outcomes, budgets of evictions, pods that may be stopped.
//
// Owner, thread: ClusterState's.

#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

class Evictions {
public:
    explicit Evictions(ClusterState& state) : state_(state) {}

    void evict_postponed(JobId job, EffectList& effects);  // who could not be yet, if it is time
    // Has pods of the job stopped for a window, or because their node is unhealthy.
    void drain(const std::vector<PodId>& pods, EvictionCause cause, const Cause& why,
               EffectList& effects);
    // Likewise evictions asked for before that effect, once what they are for was looked at.
    void resend_evictions(EffectId before, EffectList& effects);
    [[nodiscard]] const OutcomeFigures& outcomes() const { return outcomes_; }
    // When its budget of evictions lets the pod go, or the gang that it is of; absent: never.
    [[nodiscard]] std::optional<Instant> evictable_from(const PodRow& pod, bool is_gang) const;
    // For a job of higher priority: its user says so, or its pool where its user says nothing.
    [[nodiscard]] bool may_be_preempted(const PodRow& pod) const;
    // Why the job waits again although it ran; null: it was not evicted.
    [[nodiscard]] const Cause* evicted_why(const ObjectKey& job) const;
    [[nodiscard]] const std::map<ObjectKey, Churn>& churn() const { return churn_; }
    void send_eviction(PodId id, EffectList& effects);
    [[nodiscard]] Cause why_evicted(const JobRow& beneficiary, EvictionCause cause) const;
    void spare(PodRow& pod, Duration length);
    // churn.cpp
    void request_eviction(PodId id, EvictionCause cause, CauseBox why);
    static void withdraw_eviction(PodRow& pod);
    void charge_eviction(PodId id);
    void take_vacancy(PodId id);
    void forget_old_moves();
    void note_rolled_back(PodId id);
    [[nodiscard]] StoppablePod stoppable_row(PodId id) const;
    void list_stoppable(PodId id, bool is_there);
    void renew_stoppable(PodId id);
    void relist_stoppable();

    // For the other parts.
    std::map<ObjectKey, Churn>& churn() { return churn_; }
    OutcomeFigures& outcomes() { return outcomes_; }

private:
    ClusterState& state_;
    std::map<ObjectKey, Churn> churn_;  // of jobs moved within the last hour
    OutcomeFigures outcomes_;
};

}  // namespace gpuctl
