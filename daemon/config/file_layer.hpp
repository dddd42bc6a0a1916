#pragma once
// What the configuration has of a policy's layers: names and their places in the file.

#include "daemon/config/config.hpp"
#include "policy_document/objects/layers.hpp"

namespace gpuctl::config {

FileLayer file_layer(const Config& config);

}  // namespace gpuctl::config
