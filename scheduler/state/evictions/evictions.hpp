#pragma once
// Pods that are stopped: requests, their outcomes, budgets of evictions, pods that may be stopped.
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

    void evict_postponed(JobId job, EffectList& effects);  // those whose backoff is over
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
    void on(const PodEvictOutcome& event, EffectList& effects);
    void send_eviction(PodId id, EffectList& effects);
    [[nodiscard]] Cause why_evicted(const JobRow& preemptor, EvictionCause cause) const;
    void spare(PodId id, Duration length);
    void assign(PodId id, const ObjectKey& preemptor);  // its room is for that job
    void release(PodId id);                             // for no job any more
    // churn.cpp
    void request_eviction(PodId id, EvictionCause cause, CauseBox why);
    void withdraw_eviction(PodId id);
    void charge_eviction(PodId id);
    void take_vacancy(PodId id);
    void forget_old_moves();
    void note_rolled_back(PodId id);  // a rank of a gang that is undone goes
    [[nodiscard]] StoppablePod stoppable_row(PodId id) const;
    void list_stoppable(PodId id, bool is_there);
    void renew_stoppable(PodId id);
    void relist_stoppable();
    void note_gang_rolled_back() { ++outcomes_.gang_rollbacks; }
    void note_shrunk(EvictionCause cause, std::int32_t ranks) {
        outcomes_.add(cause, static_cast<std::uint64_t>(ranks));
    }
    void note_start(const ObjectKey& job);    // why it was moved is history
    void note_success(const ObjectKey& job);  // its next run begins from nothing
    void forget_work(const JobRow& job);      // it is deleted: the next one is another job
    void forget_job(const ObjectKey& job) { churn_.erase(job); }

    // --- from an image ---
    void restore_churn(std::map<ObjectKey, Churn> churn, Key<StateReader>) {
        churn_ = std::move(churn);
    }

private:
    void settle(PodId id, EvictResult result);
    ClusterState& state_;
    std::map<ObjectKey, Churn> churn_;  // of jobs moved within the last hour
    OutcomeFigures outcomes_;
};

}  // namespace gpuctl
