#pragma once
// Sums over all jobs, kept as entries come, change and go: what metrics and lists of pools and
// queues say of jobs.

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/listing/job_entry.hpp"

namespace gpuctl {

// What waits and runs in a queue itself.
struct QueueWork {
    std::int64_t jobs_waiting = 0;
    std::int64_t jobs_running = 0;
    GpuMilli gpus_waiting;
    GpuMilli gpus_claimed;
    GpuMilli gpus_held;  // those claimed included
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
    // Jobs that wait and are in no queue; and those of which no pod waits, as they lack some.
    [[nodiscard]] const ByReason& held_by_reason() const { return held_by_reason_; }
    [[nodiscard]] const ByReason& lacking_by_reason() const { return lacking_by_reason_; }
    [[nodiscard]] std::int64_t waiting() const { return waiting_; }  // in queues or not

    [[nodiscard]] QueueWork of_queue(QueueId queue) const;
    // Queues that jobs name and the pool does not have, by name.
    using Undeclared = std::map<std::pair<PoolId, NameId>, QueueWork>;
    [[nodiscard]] const Undeclared& undeclared() const { return undeclared_; }
    // By namespace (NameId), what its pods ask for that hold nodes; zero where there are none.
    [[nodiscard]] const std::vector<Load>& on_nodes() const { return on_nodes_; }
    [[nodiscard]] std::int64_t jobs_of_pool(NameId pool) const;
    [[nodiscard]] std::int64_t pods_that_say(WordId status) const;

    // The same sums, whatever was counted on the way to them.
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
