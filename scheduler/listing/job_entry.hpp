#pragma once
// The entry of a job in an index: what lists filter by, what is summed over jobs, and what a row of
// a list shows that would require a count over the job's pods. It is read from the rows when they
// change.

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "scheduler/listing/job_status.hpp"
#include "scheduler/listing/words.hpp"

namespace gpuctl {

using NameId = DenseId<struct NameTag>;  // of a namespace, pool or queue, as written

struct ListingNames {
    Interner<NameId> names;
    Words statuses;
};

// Where the reason why a job waits is found.
enum class WaitKind : std::uint8_t {
    none,      // none of its pods waits
    in_queue,  // in its class, in the queue book
    held,      // in the entry: JobEntry::held
    untried,   // it could be tried and is in no queue yet
};

// The number of pods of a job with the same status in a list.
struct PodsAlike {
    WordId status;
    WordId phase;
    std::uint32_t count = 0;
    friend bool operator==(const PodsAlike&, const PodsAlike&) = default;
};

// The contribution of a job to its queue and its namespace.
struct JobLoad {
    bool waits = false;  // some pod waits
    bool runs = false;   // some pod holds capacity of a node
    GpuMilli gpus_waiting;
    GpuMilli gpus_nominated;  // nominated: other pods are being evicted for it
    GpuMilli gpus_held;       // by shape, including nominated GPUs
    Load on_nodes;            // requests of its pods on nodes
    friend bool operator==(const JobLoad&, const JobLoad&) = default;
};

struct JobEntry {
    ObjectKey key;
    JobId job;                             // none: a finished job with a summary only
    const FinishedJob* summary = nullptr;  // if `job` is none; owned by the state
    std::uint64_t arrival = 0;             // distinguishes it from a later job in the same row

    NameId namespace_name;
    NameId pool;
    NameId queue;
    std::optional<JobKind> kind;  // absent: pods of a Kubernetes user
    JobStatus status = JobStatus::pending;
    WordId status_word;
    std::uint32_t rows = 1;  // rows in a list of pods: number of its pods, or 1
    boost::container::small_vector<PodsAlike, 1> pods;

    WaitKind waits = WaitKind::none;
    Reason held = Reason::none;  // for WaitKind::held, and for a job without pods
    PoolId pool_id;              // none: unknown
    QueueId queue_id;            // none: unknown
    bool has_pods = false;
    JobLoad load;

    std::int64_t pods_wanted = 0;
    std::int64_t pods_running = 0;
    std::int64_t pods_ready = 0;
    GpuMilli gpus_per_pod;
    GpuMilli gpus_of_all;  // including pods that are still to be created
    Instant started_at;

    [[nodiscard]] std::string_view shown_name() const {
        return std::string_view{key.name}.substr(shown_at);
    }
    std::uint32_t shown_at = 0;
    friend bool operator==(const JobEntry&, const JobEntry&) = default;
};

// Reads the rows of jobs; keeps buffers.
class EntryReader {
public:
    JobEntry read(const ClusterState& state, JobId id, ListingNames& names);

    // The entry of a finished job that is kept as a summary only.
    static JobEntry read(const FinishedJob& summary, ListingNames& names);

private:
    void add_pods(const ClusterState& state, const JobRow& job, ListingNames& names,
                  JobEntry& entry);
    void add_wait(const ClusterState& state, JobId id, JobEntry& entry);
    Readiness ready_;
};

// The node of a pod in a list; empty while the pod waits, also with a nomination.
std::string_view shown_node(const ClusterState& state, const PodRow& pod);
// The queue in a list; empty for system-critical pods, which are in no queue.
std::string shown_queue(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
