#pragma once
// The grammar of explain-yaml.

#include "cli/grammar.hpp"

namespace gpuctl::cli {

void add_explain_yaml(CLI::App& app, CommandLine& line);

}  // namespace gpuctl::cli
