#pragma once
// Why a pod is evicted or an elastic job is resized: facts, like those of explanations
// (docs/adr/0039). Evictions and resizes carry one, and the state keeps it. wording/ has one
// function for each of them.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/resource_kind.hpp"

namespace gpuctl {

namespace cause {

// --- evicted for another job ---

struct HigherPriority {
    ObjectKey job;
};
BOOST_DESCRIBE_STRUCT(HigherPriority, (), (job))

// The queue of the job reclaims GPUs that it lent.
struct Reclaimed {
    std::string queue;
    ObjectKey job;
};
BOOST_DESCRIBE_STRUCT(Reclaimed, (), (queue, job))

struct ShortResource {
    ResourceKind kind = ResourceKind::cpu;
    std::string name;  // of an extended resource
    friend bool operator==(const ShortResource&, const ShortResource&) = default;
};
BOOST_DESCRIBE_STRUCT(ShortResource, (), (kind, name))

// A pod without GPUs blocks GPUs that the queue of the job is guaranteed.
struct BlocksGuarantee {
    std::string queue;
    std::string node;
    std::vector<ShortResource> resources;  // that the node has too little of; may be empty
    ObjectKey job;
};
BOOST_DESCRIBE_STRUCT(BlocksGuarantee, (), (queue, node, resources, job))

struct ShorterJob {
    ObjectKey job;
    Duration remaining;          // of that job
    Duration remaining_evicted;  // of the evicted job
};
BOOST_DESCRIBE_STRUCT(ShorterJob, (), (job, remaining, remaining_evicted))

// The job has nearly reached the wait target of its pool.
struct NearWaitTarget {
    ObjectKey job;
    Duration remaining;
    Duration wait_target;
};
BOOST_DESCRIBE_STRUCT(NearWaitTarget, (), (job, remaining, wait_target))

// The job must start now, or it would run alone after all other jobs.
struct MustStartNow {
    ObjectKey job;
    Duration remaining;
};
BOOST_DESCRIBE_STRUCT(MustStartNow, (), (job, remaining))

struct DueEarlier {
    ObjectKey job;
};
BOOST_DESCRIBE_STRUCT(DueEarlier, (), (job))

// Its gang lacks ranks, and the job fits on its capacity.
struct GangLacksRanks {
    Duration lacked_for;
    ObjectKey job;
};
BOOST_DESCRIBE_STRUCT(GangLacksRanks, (), (lacked_for, job))

// --- evicted for no other job ---

// Its gang lacks ranks, and all of it fits elsewhere.
struct GangRestarts {
    Duration lacked_for;
};
BOOST_DESCRIBE_STRUCT(GangRestarts, (), (lacked_for))

struct NodeUnhealthy {
    std::string node;
    std::string message;  // of the health monitor
};
BOOST_DESCRIBE_STRUCT(NodeUnhealthy, (), (node, message))

struct WindowCloses {
    std::string window;
    bool is_reservation = false;
    bool has_begun = false;
};
BOOST_DESCRIBE_STRUCT(WindowCloses, (), (window, is_reservation, has_begun))

// A user drains the node.
struct NodeDrained {
    std::string node;
};
BOOST_DESCRIBE_STRUCT(NodeDrained, (), (node))

// --- resized ---

// It releases ranks above its minimum for a waiting job.
struct ShrunkFor {
    ObjectKey job;
};
BOOST_DESCRIBE_STRUCT(ShrunkFor, (), (job))

// No rank of it runs: it waits, and may start with all its ranks.
struct StartsWithAllRanks {};
BOOST_DESCRIBE_STRUCT(StartsWithAllRanks, (), ())

struct RoomIsIdle {};
BOOST_DESCRIBE_STRUCT(RoomIsIdle, (), ())

// For the ranks that it gives up.
struct NoIdleRoom {};
BOOST_DESCRIBE_STRUCT(NoIdleRoom, (), ())

// With the ranks that it gives up.
struct GainsLess {};
BOOST_DESCRIBE_STRUCT(GainsLess, (), ())

// Marginal-speedup sizing gives it another size.
struct Gain {
    std::int32_t from = 0;          // ranks
    std::int32_t to = 0;            // ranks
    bool is_as_fast = false;        // both sizes have the same stated speed
    std::int64_t speed_tenths = 0;  // otherwise: with `to`, relative to `from`
    Duration ends_sooner;           // 0 or less: it does not
};
BOOST_DESCRIBE_STRUCT(Gain, (), (from, to, is_as_fast, speed_tenths, ends_sooner))

// It gives ranks because another job gains more from them.
struct OtherGainsMore {
    std::int64_t ranks = 0;
    ObjectKey job;
    Gain gain;  // of that job
};
BOOST_DESCRIBE_STRUCT(OtherGainsMore, (), (ranks, job, gain))

}  // namespace cause

// A string is the sentence of a version that stored English; this version makes none. It comes
// first, and alternatives go at the end: the state stores positions.
using Cause =
    std::variant<std::string, cause::HigherPriority, cause::Reclaimed, cause::BlocksGuarantee,
                 cause::ShorterJob, cause::NearWaitTarget, cause::MustStartNow, cause::DueEarlier,
                 cause::GangLacksRanks, cause::GangRestarts, cause::NodeUnhealthy,
                 cause::WindowCloses, cause::ShrunkFor, cause::StartsWithAllRanks,
                 cause::RoomIsIdle, cause::NoIdleRoom, cause::GainsLess, cause::Gain,
                 cause::OtherGainsMore, cause::NodeDrained>;

// A pod and a job have one at most, and most have none.
using CauseBox = Boxed<Cause>;

}  // namespace gpuctl
