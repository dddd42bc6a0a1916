#pragma once
// Declares the tables of tables.cpp for reading, printing and comparing configurations.

#include "daemon/config/checks.hpp"
#include "daemon/config/config.hpp"
#include "policy_document/tables.hpp"

namespace gpuctl::config {

template <>
const std::vector<Key<TlsFiles>>& keys<TlsFiles>();
template <>
const std::vector<Key<Server>>& keys<Server>();
template <>
const std::vector<Key<Lease>>& keys<Lease>();
template <>
const std::vector<Key<PodToleration>>& keys<PodToleration>();
template <>
const std::vector<Key<PodDefaults>>& keys<PodDefaults>();
template <>
const std::vector<Key<Kubernetes>>& keys<Kubernetes>();
template <>
const std::vector<Key<EmbeddedNodes>>& keys<EmbeddedNodes>();
template <>
const std::vector<Key<Embedded>>& keys<Embedded>();
template <>
const std::vector<Key<Cluster>>& keys<Cluster>();
template <>
const std::vector<Key<Journal>>& keys<Journal>();
template <>
const std::vector<Key<Logging>>& keys<Logging>();
template <>
const std::vector<Key<TopologyKeys>>& keys<TopologyKeys>();
template <>
const std::vector<Key<Names>>& keys<Names>();
template <>
const std::vector<Key<Config>>& keys<Config>();

}  // namespace gpuctl::config
