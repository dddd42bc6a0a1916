#pragma once
// Facts about the order of waiting jobs: the job at the head of the line, what is reserved for it,
// and the pods that are not evicted.

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/explanation/limit_facts.hpp"
#include "scheduler/model/explanation/room_facts.hpp"

namespace gpuctl::fact {

// A share of the pool is for short jobs, and this job is expected to run longer.
struct ShortJobsFirst {
    std::int64_t percent = 0;
    std::string pool;
    Duration run_time;      // jobs with a shorter run time are short
    Duration wait_maximum;  // the share does not count for jobs that have waited this long
};
BOOST_DESCRIBE_STRUCT(ShortJobsFirst, (), (percent, pool, run_time, wait_maximum))

// The job is at the head of the line, and its start time is unknown.
struct HeadOfLine {
    Duration waited;
};
BOOST_DESCRIBE_STRUCT(HeadOfLine, (), (waited))

// The job has the head-of-line reservation.
struct HasReservation {
    // at the latest; absent: a better estimate is shown elsewhere
    std::optional<Duration> starts_in;
};
BOOST_DESCRIBE_STRUCT(HasReservation, (), (starts_in))

// Reported first. Nodes are kept for the head of the line, and its start time is unknown.
struct NodesKeptForHead {
    std::string head;
    Duration waited;  // time that the head has waited
};
BOOST_DESCRIBE_STRUCT(NodesKeptForHead, (), (head, waited))

// Reported first. The job would delay the head-of-line reservation.
struct DelaysReservation {
    std::string head;
    Duration starts_in;
    Duration run_time_max;  // of this job; 0: no limit
};
BOOST_DESCRIBE_STRUCT(DelaysReservation, (), (head, starts_in, run_time_max))

// The job is at the head of the line under the limit that blocks it.
struct HeadUnderLimit {
    Duration waited;
    // at the latest it is within the limit then; absent: unknown
    std::optional<Duration> within_in;
};
BOOST_DESCRIBE_STRUCT(HeadUnderLimit, (), (waited, within_in))

// No pod is preempted for the job, because capacity released under that limit is reserved for the
// head.
struct LimitReservedForHead {
    LimitHolder holder;
    std::string head;
};
BOOST_DESCRIBE_STRUCT(LimitReservedForHead, (), (holder, head))

// Reported first. The rest of a limit is reserved for the head of the line.
struct LimitReserved {
    std::optional<LimitHolder> holder;  // absent: several limits
    std::string head;
    Duration waited;                    // time that the head has waited
    std::optional<Duration> within_in;  // as in HeadUnderLimit
    Duration run_time_max;              // of this job; 0: no limit
};
BOOST_DESCRIBE_STRUCT(LimitReserved, (), (holder, head, waited, within_in, run_time_max))

enum class Holders : std::uint8_t {
    lower_priority,
    over_guarantee,           // in queues that hold more than their guarantees
    on_nodes_with_free_gpus,  // CPU, memory and other resources on nodes with free GPUs
    more_remaining_work,      // in a pool that preempts long work for short work
    due_later                 // in a pool that preempts by due times
};
// Why pods that come after the job in the order are not evicted for it.
enum class NotEvicted : std::uint8_t {
    not_preemptible,
    not_stated,          // their users do not state that they are preemptible
    not_stated_in_pool,  // likewise, and the pool requires the statement for preemption by priority
    no_controller,       // no controller would create them again
    evicted_often,
    in_protected_run_time,
    refused_before,
    behind_reservation,
    gang_within_guarantee,  // their job also uses the guarantee of its queue
    within_guarantee,
    ends_last  // it would run alone after all other jobs if it were preempted
};
struct PodsNotEvicted {
    Holders holders = Holders::lower_priority;
    Amount held;
    NotEvicted why = NotEvicted::not_preemptible;
    std::optional<Duration> rest;  // time until the first of them may be evicted
    std::string head;              // the job with the reservation
};
BOOST_DESCRIBE_STRUCT(PodsNotEvicted, (), (holders, held, why, rest, head))

// Pods of lower priority hold room, and the job has preemptionPolicy Never.
struct PreemptsNothing {
    std::int64_t gpus = 0;
};
BOOST_DESCRIBE_STRUCT(PreemptsNothing, (), (gpus))

}  // namespace gpuctl::fact
