#pragma once
// Jobs with a range of sizes: growing, shrinking, surplus ranks.
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
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

class ElasticJobs {
public:
    explicit ElasticJobs(ClusterState& state) : state_(state) {}

    // An elastic job is to have so many ranks (sizes.cpp).
    void resize(JobId job, std::int32_t ranks, Cause why, EffectList& effects,
                EvictionCause gives_for = EvictionCause::shrunk);
    void defer_ranks(JobId job, std::int32_t from);
    // Jobs with a range of sizes.
    [[nodiscard]] const std::set<Arrived>& elastic_jobs() const { return elastic_jobs_; }
    [[nodiscard]] static bool is_elastic(const JobRow& job) { return job.elastic.size > 0; }
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

    // For the other parts.
    std::set<Arrived>& elastic_jobs() { return elastic_jobs_; }

private:
    void send_resize(JobId id, EffectList& effects);
    void offer_surplus(JobRow& job);

    ClusterState& state_;
    std::set<Arrived> elastic_jobs_;
};

}  // namespace gpuctl
