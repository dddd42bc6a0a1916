#pragma once
// Evictions of pods: requests, outcomes, budgets of evictions, and the pods that may be evicted.
//
// Owner, thread: ClusterState's.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class Evictions {
public:
    explicit Evictions(ClusterState& state) : state_(state) {}

    void evict_postponed(JobId job, EffectList& effects);  // whose backoff is over
    // Evicts pods of a job for a maintenance window, or because their node is unhealthy.
    void drain(const std::vector<PodId>& pods, EvictionCause cause, const Cause& why,
               EffectList& effects);
    // Sends open evictions again whose effect is older than `before`, after the Plan has read the
    // jobs for which they were requested.
    void resend_evictions(EffectId before, EffectList& effects);
    [[nodiscard]] const OutcomeFigures& outcomes() const { return outcomes_; }
    // The time from which the budget of evictions allows the pod, or its gang, to be evicted;
    // absent: never.
    [[nodiscard]] std::optional<Instant> evictable_from(const PodRow& pod, bool is_gang) const;
    // True if a job of higher priority may preempt the pod: its user allows it, or, if the user
    // states nothing, its pool does.
    [[nodiscard]] bool may_be_preempted(const PodRow& pod) const;
    // Why the job waits again although it ran; null: it was not evicted.
    [[nodiscard]] const Cause* evicted_why(const ObjectKey& job) const;
    [[nodiscard]] const std::map<ObjectKey, Churn>& churn() const { return churn_; }
    void on(const PodEvictOutcome& event, EffectList& effects);
    void send_eviction(PodId id, EffectList& effects);
    [[nodiscard]] Cause why_evicted(const JobRow& preemptor, EvictionCause cause) const;
    void spare(PodId id, Duration length);
    void assign(PodId id, const ObjectKey& preemptor);  // its room is for that job
    void release(PodId id);                             // its room is for no job
    // churn.cpp
    void request_eviction(PodId id, EvictionCause cause, CauseBox why);
    void withdraw_eviction(PodId id);
    void charge_eviction(PodId id);
    void take_vacancy(PodId id);
    void forget_old_moves();
    void note_rolled_back(PodId id);  // a rank of a gang that is rolled back goes
    [[nodiscard]] StoppablePod stoppable_row(PodId id) const;
    void list_stoppable(PodId id, bool is_there);
    void renew_stoppable(PodId id);
    void relist_stoppable();
    void note_gang_rolled_back() { ++outcomes_.gang_rollbacks; }
    void note_shrunk(EvictionCause cause, std::int32_t ranks) {
        outcomes_.add(cause, static_cast<std::uint64_t>(ranks));
    }
    void note_start(const ObjectKey& job);    // it runs again: the cause of its eviction is history
    void note_success(const ObjectKey& job);  // its next run begins without completed work
    void forget_work(const JobRow& job);  // it is deleted: a later job of this name is another job
    void forget_job(const ObjectKey& job) { churn_.erase(job); }

    // --- from an image ---
    void restore_churn(std::map<ObjectKey, Churn> churn, Key<StateReader>) {
        churn_ = std::move(churn);
    }

private:
    void settle(PodId id, EvictResult result);
    ClusterState& state_;
    std::map<ObjectKey, Churn> churn_;  // of jobs evicted within the last hour
    OutcomeFigures outcomes_;
};

}  // namespace gpuctl
