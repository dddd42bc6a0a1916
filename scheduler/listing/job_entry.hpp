#pragma once
// What an index knows of a job: what lists are narrowed by, what is summed up over jobs, and what a
// row shows that would have to be counted over its pods. Read from the rows when they change.

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

// Where what keeps a job from starting is known from.
enum class WaitKind : std::uint8_t {
    none,      // no pod of it waits
    in_queue,  // of its class, in the queue book
    held,      // the job itself: JobEntry::held
    untried,   // it could be tried and is in no queue yet
};

// Pods of a job with the same words in a list.
struct PodsAlike {
    WordId status;
    WordId phase;
    std::uint32_t count = 0;
    friend bool operator==(const PodsAlike&, const PodsAlike&) = default;
};

// What a job adds to its queue and its namespace.
struct JobLoad {
    bool waits = false;  // a pod of it waits
    bool runs = false;   // a pod of it holds a node
    GpuMilli gpus_waiting;
    GpuMilli gpus_claimed;  // while others are being stopped for it
    GpuMilli gpus_held;     // by shape, those claimed included
    Load on_nodes;          // as its pods ask for it
    friend bool operator==(const JobLoad&, const JobLoad&) = default;
};

struct JobEntry {
    ObjectKey key;
    JobId job;                             // none: of a finished job, of which a summary is kept
    const FinishedJob* summary = nullptr;  // where `job` is none; the state's
    std::uint64_t arrival = 0;             // tells it from the next one in the same row

    NameId namespace_name;
    NameId pool;
    NameId queue;
    std::optional<JobKind> kind;  // absent: pods of a Kubernetes user
    JobStatus status = JobStatus::pending;
    WordId status_word;
    std::uint32_t rows = 1;  // in a list of pods: its pods, or one
    boost::container::small_vector<PodsAlike, 1> pods;

    WaitKind waits = WaitKind::none;
    Reason held = Reason::none;  // WaitKind::held; and of one without pods
    PoolId pool_id;              // none: unknown
    QueueId queue_id;            // none: unknown
    bool has_pods = false;
    JobLoad load;

    std::int64_t pods_wanted = 0;
    std::int64_t pods_running = 0;
    std::int64_t pods_ready = 0;
    GpuMilli gpus_per_pod;
    GpuMilli gpus_of_all;  // those still to be made included
    Instant started_at;

    [[nodiscard]] std::string_view shown_name() const {
        return std::string_view{key.name}.substr(shown_at);
    }
    std::uint32_t shown_at = 0;
    friend bool operator==(const JobEntry&, const JobEntry&) = default;
};

// Reads the rows of one job after another; keeps buffers.
class EntryReader {
public:
    JobEntry read(const ClusterState& state, JobId id, ListingNames& names);

    // Of a finished job of which nothing else is kept.
    static JobEntry read(const FinishedJob& summary, ListingNames& names);

private:
    void add_pods(const ClusterState& state, const JobRow& job, ListingNames& names,
                  JobEntry& entry);
    void add_wait(const ClusterState& state, JobId id, JobEntry& entry);
    Readiness ready_;
};

// The node that a list shows of a pod; empty while it waits, also for others that stop for it.
std::string_view shown_node(const ClusterState& state, const PodRow& pod);
// The queue that a list shows; empty for system-critical pods, which are in none (ruling 20).
std::string shown_queue(const ClusterState& state, const JobRow& job);

}  // namespace gpuctl
