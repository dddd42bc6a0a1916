#pragma once
// Facts about a change that would let a waiting job start (scheduler/whatif/). wording/ has one
// function for each change.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/explanation/limit_facts.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

namespace change {

struct FewerGpus {
    std::string resource;
    GpuMilli gpus;
    std::int64_t instead_of = 0;  // whole GPUs
    bool is_per_rank = false;     // or per pod
};
BOOST_DESCRIBE_STRUCT(FewerGpus, (), (resource, gpus, instead_of, is_per_rank))

struct FewerRanks {
    std::int64_t ranks = 0;
    std::int64_t instead_of = 0;
};
BOOST_DESCRIBE_STRUCT(FewerRanks, (), (ranks, instead_of))

struct ShorterRunTime {
    Duration limit;
    Duration instead_of;        // 0: no limit
    bool is_submitted = false;  // maxRunTime of a submitted job, or activeDeadlineSeconds of pods
};
BOOST_DESCRIBE_STRUCT(ShorterRunTime, (), (limit, instead_of, is_submitted))

struct OtherQueue {
    std::string queue;
};
BOOST_DESCRIBE_STRUCT(OtherQueue, (), (queue))

struct OtherPool {
    std::string pool;
};
BOOST_DESCRIBE_STRUCT(OtherPool, (), (pool))

struct RaisedLimit {
    fact::LimitHolder holder;  // the pool only where the limit of a namespace is of one pool
    fact::LimitRule rule = fact::LimitRule::maximum;
    fact::LimitUnit unit = fact::LimitUnit::gpus;
    std::string model;  // if the limit is for one GPU model
    std::int64_t to = 0;
    std::int64_t from = 0;
};
BOOST_DESCRIBE_STRUCT(RaisedLimit, (), (holder, rule, unit, model, to, from))

struct HigherLimits {
    std::vector<RaisedLimit> limits;
};
BOOST_DESCRIBE_STRUCT(HigherLimits, (), (limits))

struct Move {
    ObjectKey job;
    GpuMilli gpus;
    std::vector<std::string> from;  // nodes
    std::vector<std::string> to;    // nodes
};
BOOST_DESCRIBE_STRUCT(Move, (), (job, gpus, from, to))

struct JobsMove {
    std::vector<Move> moves;
    std::int64_t lost_gpu_ms = 0;  // work that is lost
};
BOOST_DESCRIBE_STRUCT(JobsMove, (), (moves, lost_gpu_ms))

struct JobEnds {
    std::vector<RaisedLimit> limits;  // raised as well
    ObjectKey job;
    GpuMilli gpus;
};
BOOST_DESCRIBE_STRUCT(JobEnds, (), (limits, job, gpus))

struct MoreNodes {
    std::vector<RaisedLimit> limits;  // raised as well
    std::int64_t nodes = 0;
    std::string like;  // a node
    // They are in the same domain of this level as that node; none: the location does not matter.
    TopologyLevel level = TopologyLevel::none;
};
BOOST_DESCRIBE_STRUCT(MoreNodes, (), (limits, nodes, like, level))

}  // namespace change

using ChangeFact = std::variant<change::FewerGpus, change::FewerRanks, change::ShorterRunTime,
                                change::OtherQueue, change::OtherPool, change::HigherLimits,
                                change::JobsMove, change::JobEnds, change::MoreNodes>;

// A job that a change would preempt, or shrink.
struct PreemptedByChange {
    ObjectKey job;
    GpuMilli gpus;
    bool is_at_most = false;  // this much in one way to do it, less or nothing in another
    bool continues = false;   // with fewer ranks
};
BOOST_DESCRIBE_STRUCT(PreemptedByChange, (), (job, gpus, is_at_most, continues))

struct ChangeEffect {
    ChangeFact change;
    std::int64_t pods_waiting = 0;
    std::int64_t pods_started = 0;              // of those
    std::vector<PreemptedByChange> preempts{};  // the first of them
    std::int64_t preempts_total = 0;
};
BOOST_DESCRIBE_STRUCT(ChangeEffect, (),
                      (change, pods_waiting, pods_started, preempts, preempts_total))

}  // namespace gpuctl
