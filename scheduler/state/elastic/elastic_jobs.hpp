#pragma once
// Jobs with a range of sizes: growing, shrinking, surplus ranks.
//
// Owner, thread: ClusterState's.

#include <set>
#include <string>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class ElasticJobs {
public:
    explicit ElasticJobs(ClusterState& state) : state_(state) {}

    // Sets the wanted number of ranks of an elastic job (sizes.cpp).
    void resize(JobId job, std::int32_t ranks, Cause why, EffectList& effects,
                EvictionCause gives_for = EvictionCause::shrunk);
    void defer_ranks(JobId job, std::int32_t from);
    // Jobs with a range of sizes.
    [[nodiscard]] const std::set<Arrived>& elastic_jobs() const { return elastic_jobs_; }
    [[nodiscard]] static bool is_elastic(const JobRow& job) { return job.elastic.exists(); }
    [[nodiscard]] ElasticRanks ranks_of(const JobRow& job) const;
    void on(const WorkloadResizeOutcome& event, EffectList& effects);
    void begin_size(JobId id);
    void note_size(JobId id, std::int64_t replicas);
    void settle_size(JobId id, EffectList& effects);
    [[nodiscard]] static Instant next_size_change(const JobRow& job);
    void shrink(const std::vector<Victim>& victims, const Cause& why, EffectList& effects);
    void keep_size(JobId id);
    void mark_surplus(const JobRow& job);
    void mark_surplus(PodId id);
    void end_size(JobId id);       // it is no longer elastic
    void pause_growth(JobId id);   // it has just changed its size, or started
    void forget_answer(JobId id);  // of a resize that an earlier term sent
    // Its completed work, and the number of ranks with which it runs from now on (pace.cpp).
    void note_pace(JobId id, Duration done, std::int32_t ranks);
    void forget_job(JobId id);

    // --- from an image ---
    void restore_job(JobId id, Key<StateReader>);

private:
    void send_resize(JobId id, EffectList& effects);
    void offer_surplus(JobId id);

    ClusterState& state_;
    std::set<Arrived> elastic_jobs_;
};

}  // namespace gpuctl
