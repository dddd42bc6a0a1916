#pragma once
// The waiting jobs of every queue, grouped into classes: jobs of one queue, priority and tenant
// that ask for exactly the same. What is refused to one of a class is refused to all of it, so a
// planning cycle looks at classes, never at jobs behind the first.
//
// Lifecycle: a class lives while it has a job. Thread and owner: ClusterState's.

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

// What a job asks for, see ClusterState::ask_of(); jobs of one or two shapes need no memory for it.
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

// Why a class rests, which counters it watches, and their sum when it was refused: while that
// stands still, trying again would give the same answer.
struct ClassBlock {
    static constexpr std::uint16_t kPoolGains =
        1;  // room may have come, or a queue of it holds less
    static constexpr std::uint16_t kQueueShrinks =
        2;  // its queue or one above holds less, or may hold more
    static constexpr std::uint16_t kTenantShrinks = 4;  // its tenant likewise
    static constexpr std::uint16_t kPromise = 8;        // what is promised to the first in line
    static constexpr std::uint16_t kShortWork = 16;    // room may have come beside what is for that
    static constexpr std::uint16_t kPoolLending = 32;  // what the pool's queues keep back
    static constexpr std::uint16_t kVictims = 64;      // more of its queue could be stopped for it
    static constexpr std::uint16_t kPoolVictims =
        128;                                           // more could be taken back from other queues
    static constexpr std::uint16_t kLimitsKept = 256;  // for whom what limits leave is kept
    Reason reason = Reason::none;
    std::uint16_t watch = 0;  // 0: not blocked
    // A limit stops it, room would not help: no room is promised to it.
    bool is_limited = false;
    // Whose limits those are: one bit for each queue of its chain, its own the lowest, and two.
    static constexpr std::uint16_t kOfPool = 1U << 14;
    static constexpr std::uint16_t kOfTenant = 1U << 15;
    std::uint16_t limits = 0;
    // This job, which comes before it, is kept what it would take of a limit, or what others would
    // leave if they were stopped for it.
    JobId behind;
    std::uint64_t revision = 0;  // ClusterState::block() fills it in
};

struct JobClass {
    explicit JobClass(std::pmr::memory_resource* memory) : jobs(memory) {}
    ClassKey key;
    std::uint64_t serial = 0;  // tells it from the one that had its id before
    std::pmr::set<WaitingJob> jobs;
    ClassBlock block;
};

class QueueBook {
public:
    QueueBook() : by_key_(memory_.get()) {}
    QueueBook(QueueBook&&) = default;
    QueueBook& operator=(QueueBook&&) = delete;  // the map stays with its memory

    ClassId add(const ClassKey& key, const WaitingJob& job);
    // True when the class went with it.
    void remove(ClassId id, const WaitingJob& job);
    void block(ClassId id, const ClassBlock& block);
    // Classes that a limit stopped when they were tried last: none, and nobody can be first in line
    // for what a limit leaves.
    [[nodiscard]] std::size_t classes_limited() const { return classes_limited_; }

    [[nodiscard]] const JobClass& at(ClassId id) const { return classes_[id.value()]; }
    // Classes of one queue, in no particular order: every choice among them is by full comparison.
    [[nodiscard]] const std::vector<ClassId>& of_queue(QueueId queue) const;
    [[nodiscard]] std::size_t jobs_waiting() const { return jobs_waiting_; }
    // Jobs by what their class was last refused for; those that were not tried yet by Reason::none.
    using CountByReason = std::array<std::uint64_t, kReasons.size()>;
    [[nodiscard]] const CountByReason& jobs_by_reason() const { return jobs_by_reason_; }

private:
    [[nodiscard]] std::uint64_t& count_of(const JobClass& of) {
        return jobs_by_reason_[static_cast<std::size_t>(of.block.reason)];
    }

    // Entries come and go with every job: their memory is kept and used again.
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
