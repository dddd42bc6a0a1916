#pragma once
// A journal of many jobs, so that the embedded cluster starts as if they had been submitted and run
// for a while: a fifth has finished, a fifth runs on all GPUs, the rest waits.
// Nodes, GPUs and jobs grow together, namespaces and queues do not.

#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::bench {

inline constexpr int kNamespaces = 20;

// Their names, so that a client can ask for any of them.
std::string job_name(int number);
std::string job_namespace(int number);
// Whether the job with this number runs once the journal is written.
bool job_runs(int number);

// gpuctld.yaml for such a cluster, with its journal in `directory`, listening on `port`.
std::string config_text(const std::string& directory, int jobs, int port);
// As submitted with `gpuctl create`; it does not fit.
std::string job_yaml(const std::string& name, int number);

Result<void> write_journal(const std::string& directory, int jobs);

}  // namespace gpuctl::bench
