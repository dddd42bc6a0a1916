#pragma once
// Facts about a job that is refused at submission, because it could never start.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/error_code.hpp"
#include "scheduler/model/explanation/hold_facts.hpp"
#include "scheduler/model/explanation/limit_facts.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

namespace refusal {

struct PoolWithoutNodes {
    std::string pool;
};
BOOST_DESCRIBE_STRUCT(PoolWithoutNodes, (), (pool))

// All its pods together are more than a limit allows.
struct LimitTooLow {
    std::int64_t pods = 0;
    std::int64_t each = 0;  // requested by each pod
    fact::LimitUnit unit = fact::LimitUnit::gpus;
    std::string model;         // if the limit is for one GPU model
    std::int64_t most = 0;     // that they may hold
    fact::LimitHolder holder;  // all empty: any namespace that the policy does not name
    bool is_per_job = false;
    GpuMilli reserved;        // of the pool or of the lender, for other jobs
    bool is_lending = false;  // the queues of the lender do not lend what is reserved
    std::string lender;       // a queue; empty: the pool
    GpuMilli reserved_of;     // of the lender
};
BOOST_DESCRIBE_STRUCT(LimitTooLow, (),
                      (pods, each, unit, model, most, holder, is_per_job, reserved, is_lending,
                       lender, reserved_of))

struct Request {
    std::int64_t pods = 0;
    Resources each;
};
BOOST_DESCRIBE_STRUCT(Request, (), (pods, each))

struct NoGpuModel {
    Request request;
    std::string pool;
    std::vector<std::string> wanted;    // any of these models; empty: whole GPUs
    std::vector<std::string> existing;  // in the pool
    std::string mig_profile;            // the name of the wanted model is one of its slices
};
BOOST_DESCRIBE_STRUCT(NoGpuModel, (), (request, pool, wanted, existing, mig_profile))

struct NodesTooSmall {
    Request request;
    std::string pool;
    std::string node;  // the node that offers most of the request
    Resources offered;
    std::int64_t room = 0;  // pods that fit in the empty pool
};
BOOST_DESCRIBE_STRUCT(NodesTooSmall, (), (request, pool, node, offered, room))

struct TopologyTooNarrow {
    Request request;
    TopologyLevel apart = TopologyLevel::none;
    TopologyLevel together = TopologyLevel::none;
    std::string roomiest;  // domain of the level `together`; may be empty
    std::string pool;
    std::int64_t room = 0;  // pods that fit in the empty pool
};
BOOST_DESCRIBE_STRUCT(TopologyTooNarrow, (), (request, apart, together, roomiest, pool, room))

}  // namespace refusal

struct Refusal {
    ErrorCode code{};
    std::variant<fact::PoolUnknown, fact::QueueUnknown, fact::QueueHoldsQueues,
                 refusal::PoolWithoutNodes, refusal::LimitTooLow, refusal::NoGpuModel,
                 refusal::NodesTooSmall, refusal::TopologyTooNarrow>
        what;
};

}  // namespace gpuctl
