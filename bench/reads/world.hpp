#pragma once
// Writes a journal of many jobs, so that the embedded cluster starts as if they had been submitted
// and had run for a while: a fifth has finished, a fifth runs on all GPUs, the rest waits. Nodes,
// GPUs and jobs grow together; namespaces and queues do not.

#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::bench {

inline constexpr int kNamespaces = 20;

// The name of a job, so that a client can request any job.
std::string job_name(int number);
std::string job_namespace(int number);
// True if the job with this number runs after the journal was written.
bool job_runs(int number);

// The gpuctld.yaml of such a cluster, with its journal in `directory`, listening on `port`.
std::string config_text(const std::string& directory, int jobs, int port);
// A job as submitted with `gpuctl create`. It does not fit, so it waits.
std::string job_yaml(const std::string& name, int number);

Result<void> write_journal(const std::string& directory, int jobs);

}  // namespace gpuctl::bench
