#pragma once
// Sums over all jobs for metrics and for lists of pools and queues. They are updated as entries are
// added, changed and removed.

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/listing/job_entry.hpp"

namespace gpuctl {

// Waiting and running work in a queue, without the queues below it.
struct QueueWork {
    std::int64_t jobs_waiting = 0;
    std::int64_t jobs_running = 0;
    GpuMilli gpus_waiting;
    GpuMilli gpus_nominated;
    GpuMilli gpus_held;  // including nominated GPUs
    void add(const JobLoad& load, std::int64_t sign);
    void add(const QueueWork& other);
    friend bool operator==(const QueueWork&, const QueueWork&) = default;
};

class JobSums {
public:
    void add(const JobEntry& entry) { count(entry, 1); }
    void take_out(const JobEntry& entry) { count(entry, -1); }
    void clear() { *this = {}; }

    using ByStatus = std::array<std::int64_t, kJobStatusCount>;
    [[nodiscard]] const ByStatus& by_status() const { return by_status_; }
    using ByReason = std::array<std::int64_t, kReasons.size()>;
    // Waiting jobs that are in no queue, and jobs that lack pods and have no waiting pod, by
    // reason.
    [[nodiscard]] const ByReason& held_by_reason() const { return held_by_reason_; }
    [[nodiscard]] const ByReason& lacking_by_reason() const { return lacking_by_reason_; }
    // jobs in queues and outside of queues
    [[nodiscard]] std::int64_t waiting() const { return waiting_; }

    [[nodiscard]] QueueWork of_queue(QueueId queue) const;
    // Work in queues that jobs name and the pool does not have, by name of the queue.
    using Undeclared = std::map<std::pair<PoolId, NameId>, QueueWork>;
    [[nodiscard]] const Undeclared& undeclared() const { return undeclared_; }
    // By namespace (NameId): the requests of its pods that hold capacity on nodes; zero if there
    // are none.
    [[nodiscard]] const std::vector<Load>& on_nodes() const { return on_nodes_; }
    [[nodiscard]] std::int64_t jobs_of_pool(NameId pool) const;
    [[nodiscard]] std::int64_t pods_that_say(WordId status) const;

    // Compares the sums only, not the history of the counters.
    [[nodiscard]] bool is_equal(const JobSums& other) const;

private:
    void count(const JobEntry& entry, std::int64_t sign);

    ByStatus by_status_{};
    ByReason held_by_reason_{};
    ByReason lacking_by_reason_{};
    std::int64_t waiting_ = 0;
    std::vector<QueueWork> by_queue_;
    Undeclared undeclared_;
    std::vector<Load> on_nodes_;
    std::vector<std::int64_t> jobs_by_pool_;
    std::vector<std::int64_t> pods_by_status_;
};

}  // namespace gpuctl
