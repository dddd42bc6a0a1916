#pragma once
// A change of a node that was requested and is not answered.

#include <boost/describe.hpp>
#include <string>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/node_change.hpp"

namespace gpuctl {

struct OpenNodeChange {
    std::string request;
    NodeChange change;
    Instant asked_at;
    bool in_flight = false;
    EffectId effect{};  // if it is in flight
    friend auto operator<=>(const OpenNodeChange&, const OpenNodeChange&) = default;
};
BOOST_DESCRIBE_STRUCT(OpenNodeChange, (), (request, change, asked_at, in_flight, effect))

}  // namespace gpuctl
