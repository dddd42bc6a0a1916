#pragma once
// The Kubernetes objects that are created, changed and deleted for submitted jobs.
//
// Owner, thread: ClusterState's.

#include <set>

#include "scheduler/base/result.hpp"
#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;
class Retention;

class Workloads {
public:
    explicit Workloads(ClusterState& state) : state_(state) {}

    void on(const JobSubmitted& event, EffectList& effects);
    void on(const JobUpdated& event, EffectList& effects);
    void on(const JobDeleteRequested& event, EffectList& effects);
    void on(const WorkloadOutcome& event, EffectList& effects);
    void on(const WorkloadObserved& event, EffectList& effects);
    void on(const WorkloadRemoved& event, EffectList& effects);
    void on(const JobAdopted& event, EffectList& effects);
    void send_due_workloads(EffectList& effects);
    void send_later(const JobRow& job) { unsent_.insert(job.key); }
    // of an effect of an earlier term, which may have been carried out
    void forget_answer(JobId id);
    void note_resize(JobId id, std::string message);
    void restore_state(JobId id, const FinishedJob& past, Key<Retention>);  // of a summarized job

    [[nodiscard]] const std::set<ObjectKey>& unsent() const { return unsent_; }

private:
    void apply(JobId id, const JobChange& change);
    void scale(JobId id, const JobChange& change);
    void undo_change(JobId id);
    void take_record(JobId id, const JobRecord& record);
    void send_workload(JobId id, EffectList& effects);

    ClusterState& state_;
    std::set<ObjectKey> unsent_;  // jobs whose workload waits to be written or deleted
};

}  // namespace gpuctl
