#pragma once
// Checks of a whole struct of the configuration; each reports on the field it was read from. Those
// of a policy's structs are in policy_document/checks.hpp.

#include "daemon/config/config.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

void check(const Server& server, const wire::Field& field);
void check(const TlsFiles& files, const wire::Field& field);
void check(const Lease& lease, const wire::Field& field);
void check(const OwnPod& pod, const wire::Field& field);
void check(const PodToleration& toleration, const wire::Field& field);
void check(const PodDefaults& defaults, const wire::Field& field);
void check(const Kubernetes& kubernetes, const wire::Field& field);
void check(const EmbeddedNodes& nodes, const wire::Field& field);
void check(const Embedded& embedded, const wire::Field& field);
void check(const Cluster& cluster, const wire::Field& field);
void check(const Names& names, const wire::Field& field);
void check(const Config& config, const wire::Field& field);
// hostPathRoots of a backend's section.
void check_host_path_roots(const std::vector<std::string>& roots, const wire::Field& section);

}  // namespace gpuctl::config
