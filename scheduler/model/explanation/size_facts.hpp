#pragma once
// Facts about the size of a running elastic job.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/explanation/cause.hpp"
#include "scheduler/model/explanation/limit_facts.hpp"

namespace gpuctl::fact {

// Reported first.
struct ElasticSize {
    std::int64_t ranks = 0;
    std::int64_t ranks_min = 0;
    std::int64_t ranks_max = 0;
    std::int64_t speed_tenths = 0;  // relative to ranks_min; 0: the job states no speeds
};
BOOST_DESCRIBE_STRUCT(ElasticSize, (), (ranks, ranks_min, ranks_max, speed_tenths))

struct SizeShrinks {
    CauseBox why;  // absent: gpuctl did not change the size
};
BOOST_DESCRIBE_STRUCT(SizeShrinks, (), (why))

struct SizeGrows {
    std::int64_t ranks = 0;  // to this number of ranks
    CauseBox why;            // absent: gpuctl did not change the size
};
BOOST_DESCRIBE_STRUCT(SizeGrows, (), (ranks, why))

// Extra ranks wait until evicted pods have terminated.
struct SizeWaitsForRoom {
    std::int64_t ranks = 0;
};
BOOST_DESCRIBE_STRUCT(SizeWaitsForRoom, (), (ranks))

struct SizeChangedLast {
    Cause why;
};
BOOST_DESCRIBE_STRUCT(SizeChangedLast, (), (why))

enum class SizeFixed : std::uint8_t {
    some_ended,  // ranks have succeeded: the job is not resized any more
    at_maximum,
    no_faster  // with more ranks
};
struct SizeStays {
    SizeFixed why = SizeFixed::at_maximum;
};
BOOST_DESCRIBE_STRUCT(SizeStays, (), (why))

using Limit = std::variant<LimitReached, BudgetSpent>;

// The next size of the job. The next fact says what the growth waits for.
struct GrowthAhead {
    std::int64_t ranks = 0;
    std::int64_t speed_tenths = 0;  // as in ElasticSize
    std::vector<Limit> ended_by;    // no element or one; none: the size is the job's maximum
};
BOOST_DESCRIBE_STRUCT(GrowthAhead, (), (ranks, speed_tenths, ended_by))

struct GrowthStopped {
    Limit by;
};
BOOST_DESCRIBE_STRUCT(GrowthStopped, (), (by))

struct GrowthWithoutRoom {
    std::string pool;
    std::int64_t gpus_free = 0;
    std::int64_t gpus_each = 0;
};
BOOST_DESCRIBE_STRUCT(GrowthWithoutRoom, (), (pool, gpus_free, gpus_each))

struct GrowthDelayed {
    Duration until;
};
BOOST_DESCRIBE_STRUCT(GrowthDelayed, (), (until))

// There is room. The order of waiting jobs, or the marginal speedup of other jobs, decides whether
// the job gets it.
struct GrowthUndecided {
    bool is_by_speedup = false;
};
BOOST_DESCRIBE_STRUCT(GrowthUndecided, (), (is_by_speedup))

}  // namespace gpuctl::fact
