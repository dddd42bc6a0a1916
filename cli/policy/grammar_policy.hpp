#pragma once
// The grammar of commands about pools, quotas, queues and namespaces: parts of get, describe and
// delete.

#include "cli/grammar.hpp"

namespace gpuctl::cli {

// After the commands that it extends.
void add_policy_commands(CLI::App& app, CommandLine& line);

}  // namespace gpuctl::cli
