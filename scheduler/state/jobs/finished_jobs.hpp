#pragma once
// Finished jobs, the oldest first: jobs whose rows ClusterState still has ("in full"), and
// summaries of older jobs. Numbers and ages: Policy::finished_jobs_* (ADR 0030, retention.cpp).
//
// Owner, thread: ClusterState's.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/state/jobs/finished_job.hpp"

namespace gpuctl {

// The removed jobs of one namespace, since its first job.
struct RemovedJobs {
    std::uint64_t count = 0;
    Instant last_at;
};
BOOST_DESCRIBE_STRUCT(RemovedJobs, (), (count, last_at))

class FinishedJobs {
public:
    // --- in full ---
    using InFull = std::set<std::tuple<Instant, std::uint64_t, JobId>>;  // ended, arrived
    [[nodiscard]] const InFull& in_full() const { return in_full_; }
    void add_in_full(Instant ended_at, std::uint64_t arrival, JobId job) {
        in_full_.emplace(ended_at, arrival, job);
    }
    void forget(Instant ended_at, std::uint64_t arrival, JobId job) {
        in_full_.erase({ended_at, arrival, job});
    }

    // --- summaries ---
    using ByKey = std::pmr::map<ObjectKey, FinishedJob>;
    [[nodiscard]] const ByKey& by_key() const { return by_key_; }
    [[nodiscard]] const FinishedJob* find(const ObjectKey& key) const;  // null: none
    [[nodiscard]] const FinishedJob* oldest() const;                    // null: none
    void add(FinishedJob job);
    FinishedJob extract(const ObjectKey& key);  // it must exist; its pods are forgotten
    // Removes the oldest summary. Its user did not request that, so the job is counted as removed;
    // a job whose objects the cluster reports again is not counted twice.
    void remove_oldest(Instant now);
    [[nodiscard]] std::size_t size() const { return in_full_.size() + by_key_.size(); }
    // The time at which the oldest job is older than `find_reservation`; never: there is no job.
    [[nodiscard]] Instant next_end(Duration find_reservation) const;

    // --- ended pods of summaries, and of jobs that returned from a summary ---
    // `job` is a key of by_key() or of the table of jobs; its address stays valid.
    void add_pods(const std::vector<EndedPod>& pods, const ObjectKey& job);
    void forget_pod(const CompactUid& uid) { ended_pods_.erase(uid); }
    [[nodiscard]] bool has_ended_pods() const { return !ended_pods_.empty(); }
    [[nodiscard]] const ObjectKey* job_of(const CompactUid& pod) const;  // null: of no such job
    // The object of a pod of a summarized job is gone.
    void remove_pod(const ObjectKey& job, const CompactUid& uid);

    // --- removed jobs ---
    using Removed = std::map<std::string, RemovedJobs>;
    [[nodiscard]] const Removed& removed() const { return removed_; }
    [[nodiscard]] const std::pair<Instant, ObjectKey>& removed_until() const {
        return removed_until_;
    }
    void restore_removed(Removed removed, std::pair<Instant, ObjectKey> until) {
        removed_ = std::move(removed);
        removed_until_ = std::move(until);
    }

private:
    struct ByEnd {
        bool operator()(const FinishedJob* a, const FinishedJob* b) const {
            return std::tie(a->ended_at, a->key) < std::tie(b->ended_at, b->key);
        }
    };
    InFull in_full_;
    // Summaries are created while the rows of their jobs are freed. Allocated between those, each
    // would keep a page of memory in use.
    std::unique_ptr<std::pmr::unsynchronized_pool_resource> memory_ =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
    ByKey by_key_{memory_.get()};
    std::pmr::set<const FinishedJob*, ByEnd> by_end_{memory_.get()};
    std::pmr::unordered_map<CompactUid, const ObjectKey*, CompactUidHash> ended_pods_{
        memory_.get()};
    Removed removed_;
    std::pair<Instant, ObjectKey> removed_until_;  // the newest that was removed
};

}  // namespace gpuctl
