#pragma once
// Capacity that is earmarked for a job while pods are evicted for it.
//
// Owner, thread: ClusterState's.

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

class Nominations {
public:
    explicit Nominations(ClusterState& state) : state_(state) {}

    // Evicts the victims, and reserves `round`, which fits once they are gone, for the job.
    void nominate(JobId job, const std::vector<Placement>& round,
                  const std::vector<Victim>& victims, EvictionCause cause, EffectList& effects);
    void drop_nomination(JobId job);  // victims that could not be evicted yet are spared
    [[nodiscard]] const std::vector<JobId>& nominated_jobs() const { return nominated_jobs_; }
    void read_nomination(const JobRow& job, std::vector<Placement>& round) const;
    // True if all that the job holds is being evicted for other jobs: what it places next counts as
    // another job.
    [[nodiscard]] bool is_being_moved(const JobRow& job) const;
    void revisit_nominations();
    void withdraw_surplus_ranks(const JobRow& job);
    void disappoint(const PodRow& victim);
    // The outcome of the eviction of a victim of the job.
    void note_outcome(JobId preemptor, EvictResult result);
    // True, once: the backoff of its postponed evictions is over.
    [[nodiscard]] bool take_retry(JobId id);

    // --- from an image ---
    void restore_job(JobId id, Key<StateReader>);

private:
    void postpone(JobId id);

    ClusterState& state_;
    std::vector<JobId> nominated_jobs_;  // jobs that have one
};

}  // namespace gpuctl
