#pragma once
// The read model of jobs, nodes and queues. It is updated with the state so that a query costs what
// it returns (docs/adr/0031-reads.md): an index of jobs, sums over jobs and nodes, positions in
// line, reasons and start estimates.
//
// It reads the state and changes nothing; it is not part of the image. The first query reads
// everything once. From then on the state logs its changes (scheduler/state/changes.hpp), and
// refresh() reads only those.
//
// Lifecycle, owner, thread: the Engine's. Results are valid until the next step.

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/listing/class_reasons.hpp"
#include "scheduler/listing/ended_pod_names.hpp"
#include "scheduler/listing/job_index.hpp"
#include "scheduler/listing/job_sums.hpp"
#include "scheduler/listing/pool_sums.hpp"
#include "scheduler/listing/start_board.hpp"
#include "scheduler/listing/waiting_order.hpp"

namespace gpuctl {

class Listing {
public:
    explicit Listing(ClusterState& state);

    // Applies the changes of the state. Every step of the state has another `revision`.
    void refresh(std::uint64_t revision);
    // The number of jobs that have changed since the last refresh.
    [[nodiscard]] std::size_t behind() const {
        return state_.jobs.changes().jobs().size() + state_.jobs.changes().summaries().size();
    }
    // Call it when the policy has changed.
    void note_policy() { starts_.forget(); }

    [[nodiscard]] const ClusterState& state() const { return state_; }
    [[nodiscard]] const JobIndex& index() const { return index_; }
    [[nodiscard]] const ListingNames& names() const { return names_; }
    [[nodiscard]] const JobSums& jobs() const { return sums_; }
    [[nodiscard]] const PoolSums& pools();

    void read_page(const JobSelection& selection, std::uint64_t first, std::uint64_t count,
                   JobIndex::Page& page) {
        index_.read_page(selection, names_, first, count, page);
    }
    // Reads the jobs with a pod of this name, including finished jobs without rows. An empty
    // namespace means any.
    void read_with_pod(std::string_view namespace_name, std::string_view pod,
                       std::vector<const JobEntry*>& out) const;
    [[nodiscard]] std::int64_t position_of(JobId job);
    [[nodiscard]] std::optional<StartEstimate> start_of(JobId job) const;
    // The reason why the job does not start; none: no pod of the job waits.
    [[nodiscard]] Reason reason_of(const JobEntry& entry);
    // The first blocker of the job with facts and figures; nothing: no pod of the job waits.
    [[nodiscard]] std::optional<Explanation> first_blocker(JobId job) {
        return reasons_.first_blocker(state_, job);
    }
    // Waiting jobs by the reason of their last refusal, and jobs that are held or lack pods.
    [[nodiscard]] JobSums::ByReason waiting_by_reason() const;

    // Updates the start estimates if they are due and the work is small. Otherwise has_work() is
    // true afterwards.
    void refresh_starts() { starts_.refresh(state_, order_, revision_); }
    [[nodiscard]] bool has_work() const { return starts_.is_at_work(); }
    [[nodiscard]] bool are_starts_too_old() const { return starts_.is_too_old(state_.now()); }
    void work() { starts_.work(state_, order_, StartBoard::kPiece); }

    void read_line(QueueId queue, std::size_t most, std::vector<WaitingJob>& out) {
        order_.read(state_, queue, revision_, most, out);
    }

private:
    void build();
    void update(JobId job);
    void update_summary(const ObjectKey& job);
    void add_with_pod(const ObjectKey& pod, std::vector<const JobEntry*>& out) const;

    ClusterState& state_;
    std::uint64_t revision_ = 0;
    ListingNames names_;
    EntryReader reader_;
    JobIndex index_;
    EndedPodNames ended_pods_;
    JobSums sums_;
    PoolSums pools_;
    WaitingOrder order_;
    ClassReasons reasons_;
    StartBoard starts_;
    std::vector<JobId> changed_;  // buffers
    std::vector<NodeId> changed_nodes_;
    std::vector<ObjectKey> changed_summaries_;
};

}  // namespace gpuctl
