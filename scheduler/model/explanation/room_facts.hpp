#pragma once
// Facts about nodes that have no room for the ranks of a job.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/job/topology.hpp"
#include "scheduler/model/node_refusal.hpp"
#include "scheduler/model/resource_kind.hpp"

namespace gpuctl::fact {

struct Amount {
    ResourceKind kind = ResourceKind::gpu;
    std::string resource;
    std::int64_t amount = 0;
    bool is_lower_bound = false;  // more was requested than the number counts
};
BOOST_DESCRIBE_STRUCT(Amount, (), (kind, resource, amount, is_lower_bound))

// Reported first: the request of the job.
struct Request {
    std::string resource;
    std::int64_t gpus_each = 0;  // 0: the ranks need no GPUs
    std::int64_t ranks = 0;
};
BOOST_DESCRIBE_STRUCT(Request, (), (resource, gpus_each, ranks))

// The nodes of a pool that a job may use.
struct UsableNodes {
    std::string pool;
    std::int64_t usable = 0;
    std::int64_t total = 0;
};
BOOST_DESCRIBE_STRUCT(UsableNodes, (), (pool, usable, total))

// The number of ranks that fit by the needs up to the one that is short, and by all needs.
struct RanksFitting {
    std::int64_t wanted = 0;
    std::int64_t fitting = 0;
    std::int64_t by_all = 0;
    Amount last;  // the need that limits the number
};
BOOST_DESCRIBE_STRUCT(RanksFitting, (), (wanted, fitting, by_all, last))

struct PoolEmpty {
    std::string pool;
};
BOOST_DESCRIBE_STRUCT(PoolEmpty, (), (pool))

struct NodesRefusing {
    NodeRefusal why = NodeRefusal::none;  // none: windows close the nodes
    std::int64_t nodes = 0;
    // The objects of the refusal: a taint, labels, GPU models, a topology level, or a volume claim.
    std::vector<std::string> names;
    bool has_affinity = false;  // the pods have required node affinity
};
BOOST_DESCRIBE_STRUCT(NodesRefusing, (), (why, nodes, names, has_affinity))

struct NoNodeMatches {
    std::string pool;
    std::vector<NodesRefusing> refusals;
    std::int64_t nodes_sliced = 0;
    std::string sliced_model;
};
BOOST_DESCRIBE_STRUCT(NoNodeMatches, (), (pool, refusals, nodes_sliced, sliced_model))

// The following facts are reported after Request.
struct NeverFits {
    UsableNodes nodes;
    std::int64_t ranks = 0;
    Amount need;
    bool is_in_request = false;  // the message names this need already
    std::vector<Amount> before;  // needs that exclude some nodes
    std::int64_t largest = 0;    // allocatable amount on any other node
};
BOOST_DESCRIBE_STRUCT(NeverFits, (), (nodes, ranks, need, is_in_request, before, largest))

struct GpusShort {
    UsableNodes nodes;
    std::string resource;
    std::int64_t free = 0;
    std::int64_t total = 0;
    std::int64_t most = 0;       // on one node; for a fraction of a GPU: on one GPU
    bool is_fraction = false;    // each rank needs a fraction of one GPU
    bool has_fractions = false;  // GPUs in partial use do not count as free
    RanksFitting ranks;
};
BOOST_DESCRIBE_STRUCT(GpusShort, (),
                      (nodes, resource, free, total, most, is_fraction, has_fractions, ranks))

struct ResourceShort {
    UsableNodes nodes;
    Amount need;
    std::int64_t most = 0;       // free on one node
    std::vector<Amount> before;  // needs that exclude some nodes
    RanksFitting ranks;
};
BOOST_DESCRIBE_STRUCT(ResourceShort, (), (nodes, need, most, before, ranks))

struct AlsoShort {
    Amount need;
    std::int64_t most = 0;  // free on any node
};
BOOST_DESCRIBE_STRUCT(AlsoShort, (), (need, most))

struct HostPortTaken {
    UsableNodes nodes;
    Amount port;
    std::int64_t nodes_asked = 0;      // nodes that have room except for the port
    std::int64_t nodes_with_port = 0;  // nodes where the port is free
    std::vector<Amount> before;        // needs that exclude some nodes
    RanksFitting ranks;
};
BOOST_DESCRIBE_STRUCT(HostPortTaken, (), (nodes, port, nodes_asked, nodes_with_port, before, ranks))

struct ModelRoom {
    std::string model;
    std::int64_t nodes = 0;
    std::int64_t nodes_usable = 0;
    std::int64_t gpus_free = 0;
    std::int64_t gpus_total = 0;
    std::int64_t gpus_most = 0;  // on one node
    std::int64_t ranks_fitting = 0;
    std::int64_t ranks_fitting_empty = 0;
};
BOOST_DESCRIBE_STRUCT(ModelRoom, (),
                      (model, nodes, nodes_usable, gpus_free, gpus_total, gpus_most, ranks_fitting,
                       ranks_fitting_empty))

// A job that accepts several GPU models fits on none of them. They are in the order in which they
// are tried.
struct ModelsShort {
    bool is_bound_to_gang = false;  // only the model of the placed ranks is possible
    bool has_fractions = false;
    std::int64_t ranks = 0;
    std::vector<ModelRoom> models;
};
BOOST_DESCRIBE_STRUCT(ModelsShort, (), (is_bound_to_gang, has_fractions, ranks, models))

struct NodesInPool {
    std::string pool;
    std::int64_t nodes = 0;
    std::string first;  // the first node by name
};
BOOST_DESCRIBE_STRUCT(NodesInPool, (), (pool, nodes, first))

struct OtherPools {
    std::string pool_wanted;
    std::vector<NodesInPool> pools;
};
BOOST_DESCRIBE_STRUCT(OtherPools, (), (pool_wanted, pools))

struct NamedNodeMissing {
    std::string label;  // empty: the node is named by its name
    std::string value;
    std::int64_t others = 0;  // further domains that are named
};
BOOST_DESCRIBE_STRUCT(NamedNodeMissing, (), (label, value, others))

struct TopologyShort {
    bool is_added = false;  // there is another lack of room
    TopologyLevel required = TopologyLevel::none;
    TopologyLevel spread = TopologyLevel::none;
    std::string domain;  // the domain with most room
    std::int64_t domains = 0;
    bool is_bound_to_gang = false;  // only the domain of the placed ranks is possible
    bool has_gpus = false;
    std::int64_t gpus_free = 0;  // in `domain`
    std::int64_t ranks = 0;
    std::int64_t ranks_fitting = 0;  // in `domain`
    std::int64_t ranks_fitting_empty = 0;
    std::int64_t spread_domains = 0;  // domains with room for a rank
};
BOOST_DESCRIBE_STRUCT(TopologyShort, (),
                      (is_added, required, spread, domain, domains, is_bound_to_gang, has_gpus,
                       gpus_free, ranks, ranks_fitting, ranks_fitting_empty, spread_domains))

// The request of a gang whose ranks request different amounts.
struct MixedRequest {
    std::int64_t gpus = 0;
    std::int64_t ranks = 0;
    std::vector<std::int64_t> sizes;  // GPUs of each of the first ranks
};
BOOST_DESCRIBE_STRUCT(MixedRequest, (), (gpus, ranks, sizes))

// Reported first.
struct MixShort {
    MixedRequest request;
    std::string pool;
    std::int64_t gpus_free = 0;
    std::int64_t gpus_total = 0;
};
BOOST_DESCRIBE_STRUCT(MixShort, (), (request, pool, gpus_free, gpus_total))

struct MixTogether {
    MixedRequest request;
};
BOOST_DESCRIBE_STRUCT(MixTogether, (), (request))

// Why a window that has not begun blocks a job.
enum class WindowConflict : std::uint8_t { none, stops_it_at_once, run_time_unknown, run_time };
struct WindowClosed {
    std::string name;
    bool is_reservation = false;
    std::vector<std::string> queues;  // queues of a reservation
    std::vector<std::string> tenants;
    std::int64_t nodes = 0;
    bool has_begun = false;
    Duration begins_in;
    Duration lasts;  // from its beginning, or from now
    WindowConflict conflict = WindowConflict::none;
};
BOOST_DESCRIBE_STRUCT(WindowClosed, (),
                      (name, is_reservation, queues, tenants, nodes, has_begun, begins_in, lasts,
                       conflict))

struct WindowsClosed {
    std::int64_t nodes = 0;  // each node counts once
    std::int64_t windows = 0;
    std::vector<WindowClosed> first;  // the windows that end first
    Duration run_time;                // of the job
    bool is_short_without = false;    // the job would wait without the windows, too
};
BOOST_DESCRIBE_STRUCT(WindowsClosed, (), (nodes, windows, first, run_time, is_short_without))

}  // namespace gpuctl::fact
