#pragma once
// Nodes that pool objects name: to move one is to change the objects.

#include <string>

#include "daemon/api/policy/policy_layers.hpp"

namespace gpuctl::api {

// Takes the node out of the pool objects that name it, and adds it to that of `pool`, all at once.
// False: `pool` has no object, so that the node's label says that it is in it.
aio::Task<Result<bool>> move_named_node(PolicyLayers& layers, std::string node, std::string pool,
                                        aio::Deadline deadline);

}  // namespace gpuctl::api
