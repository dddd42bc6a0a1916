#pragma once
// The grammar of the commands about nodes: label, get labels, add, remove, cordon, uncordon, drain.

#include "cli/grammar.hpp"

namespace gpuctl::cli {

// After `get` was added: it gets further kinds.
void add_node_commands(CLI::App& app, CommandLine& line);

}  // namespace gpuctl::cli
