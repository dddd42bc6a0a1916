#pragma once
// How long finished jobs are kept, and how much of them (ADR 0030); RetentionPhase draws the
// states. Decided at the end of each input, only from the policy and the time of the input.

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Retention {
public:
    explicit Retention(ClusterState& state) : state_(state) {}

    // At the end of each input: records the jobs that ended in it, and applies the limits.
    void settle(EffectList& effects);
    // Makes a job of a summary again, with what is known of it.
    JobId bring_back(const ObjectKey& key);

    // True if the facts are of an ended pod whose row is gone, and report nothing new.
    [[nodiscard]] bool is_known_end(const PodFacts& pod);
    // True if the pod ended so long ago that its job was removed, if it was ever known. Its run
    // time is in the history already.
    [[nodiscard]] bool is_old_news(const PodFacts& pod) const;
    void forget_namesake(const PodFacts& pod);
    // The object of a pod is gone. Nothing happens if it is no ended pod without a row.
    void remove_pod(const CompactUid& uid);
    // The object of a summarized job is gone, or a new job is submitted or adopted under its name.
    void remove_job(const ObjectKey& key) {
        state_.jobs.changes_.note_summary(key);
        (void)state_.jobs.finished_jobs_.extract(key);
    }

    // Of a job without a record that is gone: its controller may create another pod.
    void keep_ranks(const ObjectKey& job, FinishedRanks ranks);

    // When the next finished job is too old; never: there is none.
    [[nodiscard]] Instant next_due() const;
    void restore(JobId id, Key<StateReader>);  // a job that was read from an image
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
