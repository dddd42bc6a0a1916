#pragma once
// The waiting jobs of every queue, grouped into classes: jobs of one queue, priority and tenant
// with equal requests. A refusal of one job is a refusal of its class, so a planning cycle examines
// classes and only the first job of each.
//
// Lifetime: a class exists while it has a job. Owner and thread: those of ClusterState.

#include <array>
#include <boost/container/small_vector.hpp>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/queue/share.hpp"

namespace gpuctl {

using ClassId = DenseId<struct ClassTag>;

// The request of a job, see WaitingJobs::ask_of(); jobs of one or two shapes need no allocation.
using Ask = boost::container::small_vector<std::uint32_t, 6>;

struct ClassKey {
    QueueId queue;
    std::int32_t priority = 0;
    TenantId tenant;
    Ask ask;
    friend std::strong_ordering operator<=>(const ClassKey&, const ClassKey&) = default;
};

struct WaitingJob {
    Instant submitted_at;
    std::uint64_t arrival = 0;  // unique, so the order is total
    JobId job;
    friend auto operator<=>(const WaitingJob&, const WaitingJob&) = default;
};

// Why a class is blocked, which counters the block watches, and their sum when the class was
// refused. While the sum is unchanged, another try would give the same result.
struct ClassBlock {
    // capacity may have become free in the pool, or one of the pool's queues holds less
    static constexpr std::uint16_t kPoolGains = 1;
    // the class's queue or a queue above it holds less, or may hold more
    static constexpr std::uint16_t kQueueShrinks = 2;
    static constexpr std::uint16_t kTenantShrinks = 4;    // its tenant holds less, or may hold more
    static constexpr std::uint16_t kHeadReservation = 8;  // the head-of-line reservation
    static constexpr std::uint16_t kShortWork = 16;       // room beyond the short-job reserve
    // what queues of the pool do not lend to each other
    static constexpr std::uint16_t kPoolLending = 32;
    static constexpr std::uint16_t kVictims = 64;  // more pods of its queue could be preempted
    // more pods could be reclaimed from queues of its pool
    static constexpr std::uint16_t kPoolVictims = 128;
    static constexpr std::uint16_t kQuotaReservation = 256;  // a quota reservation of another job
    Reason reason = Reason::none;
    std::uint16_t watch = 0;  // 0: not blocked
    // A limit blocks the class and room would not help, so it gets no reservation of nodes.
    bool is_limited = false;
    // The limits that block the class: one bit for each queue from its own (the lowest bit)
    // upwards, then kOfPool and kOfTenant.
    static constexpr std::uint16_t kOfPool = 1U << 14;
    static constexpr std::uint16_t kOfTenant = 1U << 15;
    std::uint16_t limits = 0;
    // A job before the class in the order. Its quota reservation takes what the class would use of
    // a limit, or what preemption for the class would release.
    JobId behind;
    std::uint64_t revision = 0;  // set by WaitingJobs::block()
};

struct JobClass {
    explicit JobClass(std::pmr::memory_resource* memory) : jobs(memory) {}
    ClassKey key;
    std::uint64_t serial = 0;  // distinguishes it from an earlier class with the same id
    std::pmr::set<WaitingJob> jobs;
    ClassBlock block;
};

class QueueBook {
public:
    QueueBook() : by_key_(memory_.get()) {}
    QueueBook(QueueBook&&) = default;
    QueueBook& operator=(QueueBook&&) = delete;  // the map depends on its memory resource

    ClassId add(const ClassKey& key, const WaitingJob& job);
    // Returns true if the class was removed, too.
    void remove(ClassId id, const WaitingJob& job);
    void block(ClassId id, const ClassBlock& block);
    // The number of classes that a limit blocked when they were last tried. If it is 0, no job can
    // be the head of the line under a limit.
    [[nodiscard]] std::size_t classes_limited() const { return classes_limited_; }

    [[nodiscard]] const JobClass& at(ClassId id) const { return classes_[id.value()]; }
    // Classes of one queue, in no particular order: the order must not decide any choice among
    // them.
    [[nodiscard]] const std::vector<ClassId>& of_queue(QueueId queue) const;
    [[nodiscard]] std::size_t jobs_waiting() const { return jobs_waiting_; }
    // Number of jobs by the last refusal of their class; Reason::none for jobs that were not tried
    // yet.
    using CountByReason = std::array<std::uint64_t, kReasons.size()>;
    [[nodiscard]] const CountByReason& jobs_by_reason() const { return jobs_by_reason_; }

private:
    [[nodiscard]] std::uint64_t& count_of(const JobClass& of) {
        return jobs_by_reason_[static_cast<std::size_t>(of.block.reason)];
    }

    // Entries are added and removed with every job, so their memory is reused.
    std::unique_ptr<std::pmr::unsynchronized_pool_resource> memory_ =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
    std::vector<JobClass> classes_;
    std::vector<ClassId> vacant_;
    std::pmr::map<ClassKey, ClassId> by_key_;
    std::vector<std::vector<ClassId>> by_queue_;
    std::size_t jobs_waiting_ = 0;
    CountByReason jobs_by_reason_{};
    std::size_t classes_limited_ = 0;
    std::uint64_t next_serial_ = 1;
};

}  // namespace gpuctl
