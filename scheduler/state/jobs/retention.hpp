#pragma once
// How long finished jobs are kept, and how much of them (ADR 0030): RetentionPhase draws it.
// Decided at the end of each input, from the policy and the input's time alone.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Retention {
public:
    explicit Retention(ClusterState& state) : state_(state) {}

    // At the end of each input: notes what ended in it, and keeps to the limits.
    void settle(EffectList& effects);
    // The job of a summary is a job again, with what is known of it.
    JobId bring_back(const ObjectKey& key);

    // Facts of a pod that ended, whose row is gone: nothing is new. False: of no such pod.
    [[nodiscard]] bool is_known_end(const PodFacts& pod);
    // A pod that ended so long ago that its job was removed, if it was ever there: what its run
    // taught is known.
    [[nodiscard]] bool is_old_news(const PodFacts& pod) const;
    void forget_namesake(const PodFacts& pod);
    // The object of a pod that ended is gone, if it is one.
    void remove_pod(const CompactUid& uid);
    // The object of a summarized job is gone, or it is submitted or adopted under this name.
    void remove_job(const ObjectKey& key) {
        state_.jobs.changes_.note_summary(key);
        (void)state_.jobs.finished_jobs_.extract(key);
    }

    // Of a job without a record that is gone: its controller may make another pod.
    void keep_ranks(const ObjectKey& job, FinishedRanks ranks);

    // When the next of them is too old; never: none will be.
    [[nodiscard]] Instant next_due() const;
    void restore(JobId id);  // a job read from an image
    void note_end(JobId id);

private:
    [[nodiscard]] bool has_ended_pods() const {
        return state_.jobs.finished_jobs().has_ended_pods();
    }
    void summarize(JobId id, EffectList& effects);
    void keep_pods(JobId id, FinishedJob& summary, EffectList& effects);
    void restore_record(JobId id, const FinishedJob& past);
    RetentionRow& row(JobId id) { return state_.jobs.jobs_.retention(id, Jobs::key()); }
    [[nodiscard]] bool is_too_old(Instant ended_at) const;
    ClusterState& state_;
};

}  // namespace gpuctl
