#pragma once
// How to reach a job that serves, from the member accessMethods of its detail.

#include <iosfwd>
#include <nlohmann/json.hpp>

namespace gpuctl::cli {

// Nothing for a job without a Service. A pod that does not run yet is shown with its port.
void print_access(std::ostream& out, const nlohmann::json& job, bool has_curl);

// Contract: {pod_ip_access, node_port_access}; null for a job without a Service.
nlohmann::json access_row(const nlohmann::json& job);

}  // namespace gpuctl::cli
