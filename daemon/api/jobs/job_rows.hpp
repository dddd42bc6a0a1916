#pragma once
// Rows of job lists, written from the rows of the state: the one place that knows their fields. A
// page of twenty is requested up to ten thousand times a second, so nothing is copied.

#include <string>
#include <vector>

#include "scheduler/listing/listing.hpp"
#include "wire/json_text.hpp"

namespace gpuctl::api {

class JobRows {
public:
    // Appends to `out`; ages are computed up to `now`.
    JobRows(Listing& listing, Instant now, std::string& out)
        : listing_(listing), now_(now), out_(out) {}

    // A job with all of its pods as one row.
    void add_job(const JobEntry& entry);
    // The row of a job without pods in a list of pods.
    void add_without_pods(const JobEntry& entry);
    // The row's id is the pod's name: every address that accepts a job's id accepts it, too.
    void add_pod(const JobEntry& entry, const PodRow& pod);
    // The members of a job's row, into an object with more members.
    struct RowStatus {
        std::string ready;
        std::string_view reason;
    };
    void add_members(const JobEntry& entry, const RowStatus& status, wire::JsonObject& object);

    // A page: {total, page, pageSize, items, finishedRemoved}.
    // Pods of other schedulers follow the jobs.
    void add_page(const JobSelection& selection, std::int64_t number, std::int64_t size,
                  const std::vector<PodId>& foreign = {});

private:
    void separate();
    void add_foreign_pod(const PodRow& pod);
    [[nodiscard]] std::string_view reason_of(const JobEntry& entry);
    void add_rows(const JobIndex::Rows& rows, const JobSelection& selection);
    void add_common(const JobEntry& entry, GpuMilli gpus, std::string gpu_type,
                    wire::JsonObject& object);
    static void add_no_turn(wire::JsonObject& object);
    void add_removed(const JobSelection& selection, std::string& out) const;
    void add_turn(const JobEntry& entry, std::string_view reason, wire::JsonObject& object);

    Listing& listing_;
    Instant now_;
    std::string& out_;
    bool is_first_ = true;
};

// Pods that other schedulers placed, by namespace and name. They are not in the index of jobs: only
// their use of nodes counts for gpuctl. They have no queue, and no pool but their node's.
std::vector<PodId> foreign_pods(const ClusterState& state, const JobSelection& selection);

// "2/4", or "2/1-4" of an elastic one.
std::string ready_of(const ClusterState& state, const JobEntry& entry);
// "H100,A100": the preferred one first.
std::string gpu_type_of(const ClusterState& state, const JobEntry& entry);
// The same; of a job that requests no model, the models of the nodes of its pods.
std::string shown_gpu_type(const ClusterState& state, const JobEntry& entry);
// "low", or a number for a job that was not submitted here.
std::string priority_of(const ClusterState& state, const JobEntry& entry);
// Null when there is no estimate; single members are null when unknown.
void append_start(const std::optional<StartEstimate>& start, std::string& out);

}  // namespace gpuctl::api
