#pragma once
// The verbs that open a session with a pod.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/connection.hpp"
#include "cli/output.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

struct ExecOptions {
    std::string job;
    std::string pod;
    std::string container;
    std::vector<std::string> command;  // empty: attach
    bool has_input = false;
    bool has_terminal = false;
};
// The exit code of the command.
aio::Task<int> run_exec(Connection& connection, ExecOptions options);

struct CpOptions {
    std::string source;
    std::string destination;
    std::string container;
};
aio::Task<int> run_cp(Connection& connection, CpOptions options);

// NAME:PATH or NAMESPACE/NAME:PATH names a file in a pod; everything else is a file here.
struct CpEnd {
    std::string job;  // empty: here
    std::string path;
};
CpEnd cp_end(const std::string& word);

struct PortForwardOptions {
    std::string job;
    std::string pod;
    std::string address = "127.0.0.1";
    std::vector<std::string> ports;  // LOCAL:REMOTE, PORT, :REMOTE
};
aio::Task<int> run_port_forward(Connection& connection, PortForwardOptions options);

struct PortPair {
    std::uint16_t local = 0;  // 0: any free one
    std::uint16_t remote = 0;
};
Result<PortPair> port_pair(const std::string& word);

struct RunOptions {
    std::string name;
    std::string image;
    std::string pool;
    std::string gpu;
    std::string cpu = "1";
    std::string memory = "1Gi";
    std::vector<std::string> command;
    bool remove = false;
    std::int64_t wait_seconds = 600;
};
aio::Task<int> run_run(Connection& connection, RunOptions options);
// The document that `run` submits.
std::string run_document(const RunOptions& options);

}  // namespace gpuctl::cli
